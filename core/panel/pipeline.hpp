// Plays blocks of rows with one thread or with two. The result is the same, bit for bit.
//
// With two threads, the caller plays the first and the third group of members, and a second thread the others. The thread
// that would have to wait for the other one combines the scores of a block. A thread that has nothing to do sleeps.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include "panel/core.hpp"

namespace mistakebound::panel {

class Pipeline {
  static constexpr std::uint32_t ring = 8;

 public:
  static constexpr std::size_t most_rows = ring * Block::most_rows;

  explicit Pipeline(Core& core) : core_(core) {}
  ~Pipeline() { stop(); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Use a second thread from now on, if there can be one.
  void start() {
    forget_after_fork();
    if (thread_) return;
    stopped_ = false;
    try {
      thread_ = std::make_unique<std::thread>([this] { work(); });
      process_ = process();
    } catch (const std::system_error&) {  // too many threads: continue with one
    }
  }
  // Play all blocks, then end the second thread.
  void stop() noexcept {
    forget_after_fork();
    if (!thread_) return;
    stopped_ = true;
    wake(asked_);
    thread_->join();
    thread_.reset();
  }

  // The block that is being filled.
  Block& block() { return blocks_[filled_ % ring]; }

  // Play the block that was filled, and wait until the next one is empty. `played` is called by this thread for each block in
  // turn, after it was played.
  template <class Played>
  void push(Played played) {
    if (block().rows() == 0) return;
    if (!thread_) {
      core_.play(block());
      played(block());
      block().clear();
      return;
    }
    core_.play_first(block());
    filled_.store(filled_ + 1, std::memory_order_release);
    wake(asked_);
    wait_until([this] { return filled_ - taken_ < ring; }, played);
  }
  // Wait until all blocks were played. Throws what the second thread has thrown.
  template <class Played>
  void drain(Played played) {
    wait_until([this] { return taken_ == filled_; }, played);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  static constexpr int looks = 50;  // about a microsecond; not longer, because another process may need the processor

  // A process that was forked does not have the thread, and must not join it.
  void forget_after_fork() noexcept {
    if (!thread_ || process_ == process()) return;
    static_cast<void>(thread_.release());
    combining_.clear();  // the thread may have held it
  }
  static long process() {
#if defined(__unix__) || defined(__APPLE__)
    return static_cast<long>(::getpid());
#else
    return 0;
#endif
  }

  static void wake(std::atomic<std::uint32_t>& changes) {
    changes.fetch_add(1, std::memory_order_release);
    changes.notify_one();
  }

  // Look for a short while before sleeping, because waking a thread takes longer than playing a block.
  static void sleep_until_changed(std::atomic<std::uint32_t>& changes, std::uint32_t seen) {
    for (int look = 0; look < looks; ++look) {
      if (changes.load(std::memory_order_acquire) != seen) return;
      pause();
    }
    changes.wait(seen, std::memory_order_acquire);
  }
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }

  // In the first thread: take combined blocks, combine blocks if the other thread does not, and sleep if there is nothing to do.
  template <class Enough, class Played>
  void wait_until(Enough enough, Played played) {
    for (;;) {
      const std::uint32_t seen = answered_.load(std::memory_order_acquire);
      while (taken_ != combined_.load(std::memory_order_acquire)) {
        Block& next = blocks_[taken_ % ring];
        played(next);
        next.clear();
        ++taken_;
      }
      if (enough()) return;
      if (!combine_one()) sleep_until_changed(answered_, seen);
    }
  }
  bool combine_one() {
    if (combined_.load(std::memory_order_acquire) == rest_.load(std::memory_order_acquire)) return false;
    if (combining_.test_and_set(std::memory_order_acquire)) return false;
    const std::uint32_t next = combined_.load(std::memory_order_relaxed);
    const bool ready = next != rest_.load(std::memory_order_acquire);
    if (ready) {
      core_.combine(blocks_[next % ring]);
      combined_.store(next + 1, std::memory_order_release);
    }
    combining_.clear(std::memory_order_release);
    if (ready) wake(answered_);
    return ready;
  }
  // The second thread.
  void work() {
    for (;;) {
      const std::uint32_t seen = asked_.load(std::memory_order_acquire), next = rest_.load(std::memory_order_relaxed);
      if (next == filled_.load(std::memory_order_acquire)) {
        if (combine_one()) continue;
        if (stopped_) return;
        sleep_until_changed(asked_, seen);
        continue;
      }
      try {
        core_.play_rest(blocks_[next % ring]);
      } catch (...) {
        error_ = std::current_exception();
      }
      rest_.store(next + 1, std::memory_order_release);
      wake(answered_);
    }
  }

  Core& core_;
  Block blocks_[ring];
  // Numbers of blocks: filled and played by the caller, played by the second thread, combined, and taken by the caller. The
  // atomic ones have a cache line each.
  alignas(64) std::atomic<std::uint32_t> filled_{0};
  alignas(64) std::atomic<std::uint32_t> rest_{0};
  alignas(64) std::atomic<std::uint32_t> combined_{0};
  std::uint32_t taken_ = 0;
  alignas(64) std::atomic_flag combining_;
  alignas(64) std::atomic<std::uint32_t> asked_{0};  // these two change whenever there may be work for the other thread
  alignas(64) std::atomic<std::uint32_t> answered_{0};
  std::atomic<bool> stopped_{false};
  std::exception_ptr error_;  // written by the second thread before a block is combined, read afterwards
  std::unique_ptr<std::thread> thread_;
  long process_ = 0;  // the process that started the thread
};

}  // namespace mistakebound::panel
