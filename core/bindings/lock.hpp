// A lock for objects of the core. One thread at a time uses an object, without the GIL. An object that another thread was
// changing when the process was forked cannot be used in the child process.
#pragma once
#include <nanobind/nanobind.h>

#include <mutex>
#include <new>
#include <stdexcept>
#include <string>

namespace mistakebound {

inline int forks = 0;  // number of forks between the first process and this one

class Lock {
 public:
  explicit Lock(const char* owner = "object") : owner_(owner) {}

  // Wait without the GIL, because the thread that has the lock may need the GIL. After a fork the mutex may be locked by a
  // thread that does not exist in the child: the child makes a new mutex, and an unfinished change makes the object unusable.
  // `before_waiting` is called, with the GIL, if another thread has the lock.
  template <class BeforeWaiting>
  std::unique_lock<std::mutex> take(BeforeWaiting before_waiting) {
    if (forks_seen_ != forks) {
      new (&mutex_) std::mutex;
      forks_seen_ = forks;
      unfinished_ = working_;
    }
    if (unfinished_)
      throw std::runtime_error(std::string("this process was forked while another thread was changing this ") + owner_ +
                               "; the change is unfinished in this process, and the " + owner_ +
                               " cannot be used here: make a new one, or fork before the run");
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
  // While an object of this class exists, the owner of the lock is being changed. The caller must hold the lock.
  class Changing {
   public:
    explicit Changing(Lock& lock) : lock_(lock) { lock_.working_ = true; }
    ~Changing() { lock_.working_ = false; }
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;

   private:
    Lock& lock_;
  };
  // Call `work`, which changes the object, without the GIL. The caller must hold the lock.
  template <class Work>
  void without_gil(Work work) {
    nanobind::gil_scoped_release release;
    const Changing now(*this);
    work();
  }

 private:
  const char* owner_;
  std::mutex mutex_;
  int forks_seen_ = forks;
  bool working_ = false, unfinished_ = false;
};

}  // namespace mistakebound
