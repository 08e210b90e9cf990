// The records of the features, and their layout in memory: what a thread uses of a feature is in one cache line.
#pragma once
#include <cstddef>
#include <cstdint>

#include "memory/table.hpp"
#include "panel/block.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel {

// With one thread, the numbers of the first two groups share a cache line, and the third group has its own table. With two
// threads, the first and the third group, which the same thread plays, share a line, and the second group has its own table.
// Without the third group (lean), the first and the second group have a table each.
enum class Layout { one_thread, two_threads, two_threads_lean };

class FeatureTable {
 public:
  FeatureTable(bool two_threads, bool with_third)
      : layout_(!two_threads ? Layout::one_thread : with_third ? Layout::two_threads : Layout::two_threads_lean),
        with_third_(with_third) {
    resize(0);
  }

  // New records are zero, those before the features have their start values.
  void resize(std::size_t features) {
    size_ = features;
    each_table([features](auto& table) { table.resize(before_features + features); });
    for (const std::int32_t i : {constant_index, padding_index}) {
      if (first(i)[scale] != 0) return;
      first(i)[scale] = 1;
      start(i, i == constant_index ? first_sum : 1);
    }
  }
  // Set the numbers of the second and the third group that do not start at 0.
  void start(std::ptrdiff_t i, float sum = first_sum) {
    second(i)[arow_variance] = 1;
    second(i)[implicit_sum] = second(i)[adagrad_sum] = sum;
    if (with_third_) third(i)[hinge_sum] = sum;
  }
  void reserve(std::size_t features) {
    each_table([features](auto& table) { table.reserve(before_features + features); });
  }
  std::size_t size() const { return size_; }
  Layout layout() const { return layout_; }
  bool with_third() const { return with_third_; }

  // How many floats after those of a feature the numbers of the next one lie.
  template <Layout L>
  static constexpr std::ptrdiff_t first_stride = L == Layout::two_threads_lean ? 8 : 16;
  template <Layout L>
  static constexpr std::ptrdiff_t second_stride = L == Layout::one_thread ? 16 : 8;

  std::ptrdiff_t third_stride() const { return layout_ == Layout::two_threads ? std::ptrdiff_t{16} : std::ptrdiff_t{third_floats}; }

  float* first(std::ptrdiff_t i) {
    return layout_ == Layout::two_threads_lean ? (halves_.data() + before_features)[i].at : (lines_.data() + before_features)[i].at;
  }
  float* second(std::ptrdiff_t i) {
    if (layout_ == Layout::one_thread) return (lines_.data() + before_features)[i].at + half_floats;
    return (seconds_.data() + before_features)[i].at;
  }
  float* third(std::ptrdiff_t i) {
    if (layout_ == Layout::two_threads) return (lines_.data() + before_features)[i].at + half_floats;
    return (thirds_.data() + before_features)[i].at;
  }
  // The records of the third group, if they lie in a table of their own that does not fit into the cache; otherwise null.
  const Third* large_thirds() const {
    const bool large = thirds_.size() * sizeof(Third) > (std::size_t{1} << 19);
    return large ? thirds_.data() + before_features : nullptr;
  }

 private:
  struct alignas(64) Line {
    float at[2 * half_floats];
  };
  struct alignas(32) Half {
    float at[half_floats];
  };

  template <class Do>
  void each_table(Do work) {
    if (layout_ == Layout::two_threads_lean)
      work(halves_);
    else
      work(lines_);
    if (layout_ != Layout::one_thread) work(seconds_);
    if (layout_ == Layout::one_thread && with_third_) work(thirds_);
  }

  Layout layout_;
  bool with_third_;
  std::size_t size_ = 0;
  Table<Line> lines_;
  Table<Half> halves_, seconds_;
  Table<Third> thirds_;
};

// What members prefetch while they work on a row: the records of later rows and, of the same row, those of the third group.
struct Fetching {
  const float* table;
  const Third* third;  // null for none
};
// A core waits for a limited number of lines at a time, so each pass asks for some of each group of eight: with two threads those
// from `First` to `Last`, otherwise those from `FirstOfOne` to `LastOfOne`.
template <Layout L, std::ptrdiff_t Stride, std::size_t First, std::size_t Last, std::size_t FirstOfOne, std::size_t LastOfOne>
[[gnu::always_inline]] inline void fetch(const Row& x, std::size_t g, const Fetching& what) {
  constexpr bool one = L == Layout::one_thread;
  constexpr std::size_t from = one ? FirstOfOne : First, to = one ? LastOfOne : Last;
  if (x.ahead != nullptr) {
#pragma GCC unroll 8
    for (std::size_t j = from; j < to; ++j) __builtin_prefetch(what.table + Stride * x.ahead[g * lanes + j], 1, 2);
  }
  if (one && what.third != nullptr) {
    const std::int32_t* const at = x.index_of(g);
#pragma GCC unroll 8
    for (std::size_t j = from; j < to; ++j) __builtin_prefetch(what.third + at[j], 1, 2);
  }
}

}  // namespace mistakebound::panel
