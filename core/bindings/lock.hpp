// One thread at a time in an object of the core, without the GIL while it works; forks are noticed.
#pragma once
#include <nanobind/nanobind.h>

#include <mutex>
#include <new>
#include <stdexcept>

namespace mistakebound {

inline int forks = 0;  // how many there were between the start of the process and this one

class Lock {
 public:
  // Never wait while holding the GIL: who is inside may be about to ask for it. After a fork the mutex may belong to a
  // thread that the child does not have: it gets a new one. What that thread was doing is then half done.
  std::unique_lock<std::mutex> take() {
    if (forks_seen_ != forks) {
      new (&mutex_) std::mutex;
      forks_seen_ = forks;
      torn_ = working_;
    }
    if (torn_)
      throw std::runtime_error(
          "this process was forked while another thread was inside run of this object: it stopped half-way here and cannot be "
          "used");
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
      nanobind::gil_scoped_release release;
      lock.lock();
    }
    return lock;
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
  std::mutex mutex_;
  int forks_seen_ = forks;
  bool working_ = false, torn_ = false;
};

}  // namespace mistakebound
