// A lock for objects of the core: one thread at a time uses an object, without the GIL; an object that a fork has caught
// half-way is refused.
#pragma once
#include <nanobind/nanobind.h>

#include <mutex>
#include <new>
#include <stdexcept>
#include <string>

namespace mistakebound {

inline int forks = 0;  // how many there were between the start of the process and this one

class Lock {
 public:
  explicit Lock(const char* of_what = "object") : of_what_(of_what) {}

  // Never wait while holding the GIL: who is inside may be about to ask for it. After a fork the mutex may belong to a
  // thread that the child does not have: it gets a new one. What that thread was doing is then half done.
  // `before_waiting` is called, with the GIL, if another thread is inside.
  template <class BeforeWaiting>
  std::unique_lock<std::mutex> take(BeforeWaiting before_waiting) {
    if (forks_seen_ != forks) {
      new (&mutex_) std::mutex;
      forks_seen_ = forks;
      torn_ = working_;
    }
    if (torn_)
      throw std::runtime_error(std::string("this process was forked while another thread was inside run of this ") + of_what_ +
                               ": it stopped half-way here and cannot be used");
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
      before_waiting();
      nanobind::gil_scoped_release release;
      lock.lock();
    }
    return lock;
  }
  std::unique_lock<std::mutex> take() {
    return take([] {});
  }
  // Changes, without the GIL; the lock must be held.
  template <class Work>
  void away(Work work) {
    nanobind::gil_scoped_release release;
    working_ = true;
    try {
      work();
    } catch (...) {
      working_ = false;
      throw;
    }
    working_ = false;
  }

 private:
  const char* of_what_;
  std::mutex mutex_;
  int forks_seen_ = forks;
  bool working_ = false, torn_ = false;
};

}  // namespace mistakebound
