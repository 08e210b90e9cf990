// Records of features in two halves. One thread wants both in one line of the cache; two threads, each of which writes one half,
// want them in tables of their own.
#pragma once
#include <cstddef>
#include <cstdint>

#include "memory/table.hpp"
#include "panel/block.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel {

class FeatureTable {
 public:
  explicit FeatureTable(bool apart) : apart_(apart) { resize(0); }

  // New records are zero, those before the features have their start values.
  void resize(std::size_t features) {
    size_ = features;
    if (apart_) {
      first_.resize(before_features + features);
      second_.resize(before_features + features);
    } else {
      both_.resize(before_features + features);
    }
    for (const std::int32_t i : {constant_index, padding_index}) {
      if (first(i)[scale] != 0) return;
      first(i)[scale] = 1;
      second(i)[implicit_sum] = second(i)[adagrad_sum] = i == constant_index ? first_sum : 1;
      second(i)[arow_variance] = 1;
    }
  }
  void reserve(std::size_t features) {
    if (apart_) {
      first_.reserve(before_features + features);
      second_.reserve(before_features + features);
    } else {
      both_.reserve(before_features + features);
    }
  }
  std::size_t size() const { return size_; }

  // How many floats after that of feature 0 the half of feature 1 lies.
  template <bool Apart>
  static constexpr std::ptrdiff_t places = Apart ? half_floats : 2 * half_floats;

  float* first(std::ptrdiff_t i) { return half(0) + i * (apart_ ? places<true> : places<false>); }
  float* second(std::ptrdiff_t i) { return half(1) + i * (apart_ ? places<true> : places<false>); }
  // The halves of feature 0.
  float* half(std::size_t which) {
    if (apart_) return (which == 0 ? first_.data() : second_.data())[before_features].at;
    return both_.data()[before_features].at[which].at;
  }
  bool apart() const { return apart_; }

 private:
  struct alignas(32) Half {
    float at[half_floats];
  };
  struct alignas(64) Both {
    Half at[2];
  };
  static_assert(half_floats == 8);

  bool apart_;
  std::size_t size_ = 0;
  Table<Half> first_, second_;
  Table<Both> both_;
};

// What members prefetch while they work on a row: the records of later rows and, of the same row, those of the third group.
struct Fetching {
  const float* table;
  const Third* third;  // null for none
};
// A core waits for a limited number of lines at a time, so each pass asks for some of each group of eight: if tables are apart,
// those from `First` to `Last` of its own; otherwise those from `FirstOfBoth` to `LastOfBoth`.
template <bool Apart, std::size_t First, std::size_t Last, std::size_t FirstOfBoth, std::size_t LastOfBoth>
[[gnu::always_inline]] inline void fetch(const Row& x, std::size_t g, const Fetching& what) {
  constexpr std::size_t from = Apart ? First : FirstOfBoth, to = Apart ? Last : LastOfBoth;
  if (x.ahead != nullptr) {
#pragma GCC unroll 8
    for (std::size_t j = from; j < to; ++j)
      __builtin_prefetch(what.table + FeatureTable::places<Apart> * std::ptrdiff_t{x.ahead[g * lanes + j]}, 1, 2);
  }
  if (what.third != nullptr) {
    const std::int32_t* const at = x.index_of(g);
#pragma GCC unroll 8
    for (std::size_t j = from; j < to; ++j) __builtin_prefetch(what.third + at[j], 1, 2);
  }
}

}  // namespace mistakebound::panel
