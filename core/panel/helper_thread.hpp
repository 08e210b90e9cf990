// A second thread that does half of the work, again and again. It sleeps in between.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace mistakebound::panel {

class HelperThread {
 public:
  // `work(1)` is what the thread does each time; it must not throw. If there can be no thread, nothing is done by it.
  explicit HelperThread(std::function<void(std::size_t)> work) : work_(std::move(work)) {
    try {
      thread_ = std::thread([this] { loop(); });
    } catch (const std::system_error&) {  // too many threads: continue with one
    }
  }
  ~HelperThread() {
    if (!thread_.joinable()) return;
    stopped_ = true;
    asked_.fetch_add(1, std::memory_order_release);
    asked_.notify_one();
    thread_.join();
  }
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  // Do `work(0)` here and `work(1)` in the thread; return when both are done.
  void run() {
    if (!thread_.joinable()) return work_(0);
    const std::uint32_t turn = asked_.fetch_add(1, std::memory_order_release) + 1;
    asked_.notify_one();
    work_(0);
    wait_for(answered_, [turn](std::uint32_t now) { return now == turn; });
  }

 private:
  static constexpr int looks = 200;  // a few microseconds; not longer, because another process may need the processor

  // Look for a short while before sleeping, because waking a thread takes long.
  template <class Enough>
  static std::uint32_t wait_for(std::atomic<std::uint32_t>& changes, Enough enough) {
    for (int look = 0;; ++look) {
      const std::uint32_t now = changes.load(std::memory_order_acquire);
      if (enough(now)) return now;
      if (look >= looks) changes.wait(now, std::memory_order_acquire);
    }
  }
  void loop() {
    for (std::uint32_t done = 0;;) {
      done = wait_for(asked_, [done](std::uint32_t now) { return now != done; });
      if (stopped_) return;
      work_(1);
      answered_.store(done, std::memory_order_release);
      answered_.notify_one();
    }
  }

  std::function<void(std::size_t)> work_;
  alignas(64) std::atomic<std::uint32_t> asked_{0};
  alignas(64) std::atomic<std::uint32_t> answered_{0};
  std::atomic<bool> stopped_{false};
  std::thread thread_;
};

}  // namespace mistakebound::panel
