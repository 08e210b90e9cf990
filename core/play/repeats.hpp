// Features that occur more than once in an example. They are replaced by one feature with the sum of their values, added in
// float64 in the order of the example, before a prediction or an update. A feature with the sum 0 is left out. In rows of
// names without values (all values are 1) they are summed only before an update, because the score is the same.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "play/example.hpp"
#include "play/sum.hpp"

namespace mistakebound {

// One object per thread, behind a pointer: otherwise the compiler looks up the thread-local address for every feature.
template <class T>
T& thread_instance() {
  static thread_local const std::unique_ptr<T> instance = std::make_unique<T>();
  return *instance;
}

// A hash table of the features of one row. It is used for many rows, because clearing it takes constant time.
class SeenFeatures {
 public:
  void clear(std::size_t most) {  // `most`: the largest number of features that will be added
    const std::size_t wanted = std::bit_ceil(std::max<std::size_t>(64, (most < many ? 8 : 2) * most));
    if (wanted > slots_.size()) slots_.assign(wanted, Slot{});
    if (++stamp_ == 0) {
      std::fill(slots_.begin(), slots_.end(), Slot{});
      stamp_ = 1;
    }
    mask_ = wanted - 1;
    shift_ = 64 - std::countr_zero(wanted);
  }

  // Return the place of an earlier feature for which `same(place)` is true. If there is none, add this one and return `none`.
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  template <class Same>
  [[gnu::always_inline]] std::uint32_t find_or_add(std::uint32_t hash, std::uint32_t place, Same same) {
    std::size_t at = (hash * 0x9E3779B97F4A7C15ULL) >> shift_;
    for (; slots_[at].stamp == stamp_; at = (at + 1) & mask_)
      if (same(slots_[at].place)) return slots_[at].place;
    slots_[at] = {stamp_, place};
    return none;
  }

 private:
  static constexpr std::size_t many = 4096;  // below it use 8 slots per feature: few collisions, predictable branches
  struct Slot {
    std::uint32_t stamp = 0, place = 0;
  };
  std::vector<Slot> slots_;
  std::uint32_t stamp_ = 0;
  std::size_t mask_ = 0;
  int shift_ = 0;
};

// Sum the repeated features `begin` to `end` of one row in place, and return the new end of the row.
//
//   hash(k)         hash of feature k
//   same(a, b)      whether two features are the same
//   add(first, k)   add the value of k to that of `first`, and return the sum
//   value(k)        value of feature k
//   move(from, to)  move a feature with all its data
template <class Hash, class Same, class Add, class Value, class Move>
std::size_t sum_repeated(std::size_t begin, std::size_t end, Hash hash, Same same, Add add, Value value, Move move) {
  SeenFeatures& seen = thread_instance<SeenFeatures>();
  seen.clear(end - begin);
  std::size_t left = begin;
  bool zero = false;  // whether a sum is 0
  for (std::size_t k = begin; k < end; ++k) {
    const std::uint32_t first = seen.find_or_add(hash(k), static_cast<std::uint32_t>(left - begin),
                                                 [&](std::uint32_t earlier) { return same(begin + earlier, k); });
    if (first != SeenFeatures::none) {
      zero |= add(begin + first, k) == 0;
    } else {
      if (left != k) move(k, left);
      ++left;
    }
  }
  if (!zero) return left;
  std::size_t kept = begin;
  for (std::size_t k = begin; k < left; ++k) {
    if (value(k) == 0) continue;
    if (kept != k) move(k, kept);
    ++kept;
  }
  return kept;
}

// A fast filter, without branches in its loop: false means that no feature is repeated, true that one may be.
class Filter {
 public:
  template <class Hash>
  bool may_repeat(std::size_t size, Hash hash) {
    if (size > most) return true;
    if (++stamp_ == 0) {
      std::fill(seen_, seen_ + places, std::uint16_t{0});
      stamp_ = 1;
    }
    const std::uint16_t stamp = stamp_;
    std::uint16_t* const seen = seen_;
    bool collision = false;
    for (std::size_t k = 0; k < size; ++k) {
      const std::uint32_t place = (hash(k) * 0x9E3779B1U) >> (32 - bits);
      collision |= seen[place] == stamp;
      seen[place] = stamp;
    }
    return collision;
  }
 private:
  static constexpr std::size_t most = 256;  // with more features, a collision by chance is likely
  static constexpr int bits = 14;
  static constexpr std::size_t places = std::size_t{1} << bits;
  std::uint16_t seen_[places] = {};
  std::uint16_t stamp_ = 0;
};

// Return the first feature that is the same as an earlier one, or `size` if there is none.
template <class Hash, class Same>
std::size_t first_repeated(std::size_t size, Hash hash, Same same) {
  if (!thread_instance<Filter>().may_repeat(size, hash)) return size;
  SeenFeatures& seen = thread_instance<SeenFeatures>();
  seen.clear(size);
  for (std::size_t k = 0; k < size; ++k) {
    const auto found = [&](std::uint32_t earlier) { return same(earlier, k); };
    if (seen.find_or_add(hash(k), static_cast<std::uint32_t>(k), found) != SeenFeatures::none) return k;
  }
  return size;
}
template <class Hash, class Same>
bool has_repeated(std::size_t size, Hash hash, Same same) {
  return first_repeated(size, hash, same) != size;
}

// Sums the repeated indices of a row in which all values are 1.
class SummedOnes {
 public:
  Row<std::int32_t, double> operator()(const Row<std::int32_t, double>& x) {
    const auto hash = [&](std::size_t k) { return static_cast<std::uint32_t>(x.index[k]); };
    if (!has_repeated(x.size, hash, [&](std::size_t a, std::size_t b) { return x.index[a] == x.index[b]; })) return x;
    index_.assign(x.index, x.index + x.size);
    value_.assign(x.size, 1.0);
    const std::size_t size = sum_repeated(
        0, x.size, [&](std::size_t k) { return static_cast<std::uint32_t>(index_[k]); },
        [&](std::size_t a, std::size_t b) { return index_[a] == index_[b]; },
        [&](std::size_t first, std::size_t k) { return value_[first] += value_[k]; },
        [&](std::size_t k) { return value_[k]; },
        [&](std::size_t from, std::size_t to) { index_[to] = index_[from], value_[to] = value_[from]; });
    return {index_.data(), value_.data(), size};
  }

 private:
  std::vector<std::int32_t> index_;
  std::vector<double> value_;
};

// Whether each index is larger than the one before. Then none is repeated.
template <class Index>
inline bool increasing(const Index* index, std::size_t size) {
  std::size_t k = 1;
  while (k < size && index[k - 1] < index[k]) ++k;
  return k >= size;
}
#ifdef MISTAKEBOUND_X86
MISTAKEBOUND_AVX2 inline bool increasing_avx2(const std::int32_t* index, std::size_t size) {
  if (size < 9) return increasing(index, size);
  const auto eight = [index](std::size_t k) MISTAKEBOUND_AVX2 {
    return _mm256_cmpgt_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(index + k)),
                              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index + k - 1)));
  };
  __m256i larger = eight(size - 8);  // the last eight; some of them may be compared twice
  for (std::size_t k = 1; k + 8 < size; k += 8) larger = _mm256_and_si256(larger, eight(k));
  return _mm256_movemask_epi8(larger) == -1;
}
#endif

}  // namespace mistakebound
