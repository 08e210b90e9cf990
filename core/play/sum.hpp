// The order of additions of a sum over an example. Every kernel and the Python reference (reference.py) use it:
//
//   The term of non-zero k is added to lane k mod 8. Each product w*x is a float64 product.
//   The eight lanes are then added as  s_j = l_j + l_{j+4},  (s_0 + s_2) + (s_1 + s_3).
//
// Products and sums are not fused (-ffp-contract=off). Hence scalar and AVX2 code give the same bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "play/example.hpp"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define MISTAKEBOUND_X86 1
#include <immintrin.h>
#endif

namespace mistakebound {

inline constexpr std::size_t lane_count = 8;

struct Lanes {
  double lane[lane_count] = {};
  double total() const {
    const double s0 = lane[0] + lane[4], s1 = lane[1] + lane[5];
    const double s2 = lane[2] + lane[6], s3 = lane[3] + lane[7];
    return (s0 + s2) + (s1 + s3);
  }
};

// Every kernel checks its indices and values, eight at a time, before it uses them. It returns false, without any effect, if
// an index is not below the number of weights or a value is a stored zero. Such rows are irregular (Play::visit_irregular).
template <class Slot>
struct Weights {
  const Slot* data;
  std::size_t count;
};

template <class Slot, class Index, class Value>
inline bool regular(const Weights<Slot>& w, const Row<Index, Value>& x, std::size_t k) {
  return static_cast<std::size_t>(static_cast<std::make_unsigned_t<Index>>(x.index[k])) < w.count && x.value[k] != 0;
}

// Prefetch the weight of a later non-zero. Its index is not checked yet, but prefetching a wrong address is harmless. A
// function that only prefetches must be inlined, because gcc removes calls of functions without visible effect.
template <class Slot, class Index>
[[gnu::always_inline]] inline void fetch(const Slot* slots, Index index) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(slots) +
                                                   sizeof(Slot) * static_cast<std::make_unsigned_t<Index>>(index)));
}

// Add the last, incomplete group of eight to lanes 0, 1, ..., then `extra`, the term of the constant feature.
template <class Slot, class Index, class Value>
[[gnu::always_inline]] inline bool finish(const Weights<Slot>& w, const Row<Index, Value>& x, std::size_t from, Lanes& lanes,
                                          double extra, double& sum) {
  std::size_t j = 0;
  for (std::size_t k = from; k < x.size; ++k, ++j) {
    if (!regular(w, x, k)) [[unlikely]]
      return false;
    if (x.ahead) fetch(w.data, x.index[k + look_ahead]);
    lanes.lane[j] += static_cast<double>(w.data[x.index[k]].w) * static_cast<double>(x.value[k]);
  }
  lanes.lane[j] += extra;
  sum = lanes.total();
  return true;
}

template <bool Ahead, class Slot, class Index, class Value>
inline bool dot_portable(const Weights<Slot>& w, const Row<Index, Value>& x, double extra, double& sum) {
  // Eight named accumulators: gcc keeps them in registers, which it does not do for an array.
  double l0 = 0, l1 = 0, l2 = 0, l3 = 0, l4 = 0, l5 = 0, l6 = 0, l7 = 0;
  std::size_t k = 0;
  const auto term = [&](std::size_t i) {
    if constexpr (Ahead) fetch(w.data, x.index[i + look_ahead]);
    return static_cast<double>(w.data[x.index[i]].w) * static_cast<double>(x.value[i]);
  };
  for (; k + lane_count <= x.size; k += lane_count) {
    bool good = true;
    for (std::size_t j = 0; j < lane_count; ++j) good &= regular(w, x, k + j);
    if (!good) [[unlikely]]
      return false;
    l0 += term(k);
    l1 += term(k + 1);
    l2 += term(k + 2);
    l3 += term(k + 3);
    l4 += term(k + 4);
    l5 += term(k + 5);
    l6 += term(k + 6);
    l7 += term(k + 7);
  }
  Lanes lanes{{l0, l1, l2, l3, l4, l5, l6, l7}};
  return finish(w, x, k, lanes, extra, sum);
}

#ifdef MISTAKEBOUND_X86
#define MISTAKEBOUND_AVX2 __attribute__((target("avx2")))

// Eight values as two fours of float64, and a mask of the stored zeros among them.
struct Eight {
  __m256d low, high;
  __m256i zero;
};
MISTAKEBOUND_AVX2 inline Eight eight(const float* p) {
  const __m256 all = _mm256_loadu_ps(p);
  return {_mm256_cvtps_pd(_mm256_castps256_ps128(all)), _mm256_cvtps_pd(_mm256_extractf128_ps(all, 1)),
          _mm256_castps_si256(_mm256_cmp_ps(all, _mm256_setzero_ps(), _CMP_EQ_OQ))};
}
MISTAKEBOUND_AVX2 inline Eight eight(const double* p) {
  const __m256d low = _mm256_loadu_pd(p), high = _mm256_loadu_pd(p + 4), none = _mm256_setzero_pd();
  const __m256d zero = _mm256_or_pd(_mm256_cmp_pd(low, none, _CMP_EQ_OQ), _mm256_cmp_pd(high, none, _CMP_EQ_OQ));
  return {low, high, _mm256_castpd_si256(zero)};
}

// Load four weights by loads and shuffles. On Zen 3 the gather instruction is 20 % slower.
template <class Slot>
MISTAKEBOUND_AVX2 inline __m256d four_weights(const Slot* slots, const std::int32_t* i) {
  const auto at = [slots, i](int k) MISTAKEBOUND_AVX2 { return _mm_load_ss(&slots[static_cast<std::uint32_t>(i[k])].w); };
  return _mm256_cvtps_pd(_mm_movelh_ps(_mm_unpacklo_ps(at(0), at(1)), _mm_unpacklo_ps(at(2), at(3))));
}

template <bool Ahead, class Slot, class Value>
MISTAKEBOUND_AVX2 inline bool dot_avx2(const Weights<Slot>& w, const Row<std::int32_t, Value>& x, double extra, double& sum) {
  __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
  const __m256i last = _mm256_set1_epi32(static_cast<int>(static_cast<std::uint32_t>(w.count) - 1));
  std::size_t k = 0;
  for (; k + lane_count <= x.size && w.count > 0; k += lane_count) {
    const __m256i index = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x.index + k));
    const Eight value = eight(x.value + k);
    const __m256i beyond = _mm256_xor_si256(index, _mm256_min_epu32(index, last));  // also negative ones: unsigned, they are large
    const __m256i irregular = _mm256_or_si256(beyond, value.zero);
    if (_mm256_testz_si256(irregular, irregular) == 0) [[unlikely]]
      return false;
    if constexpr (Ahead)
      for (std::size_t j = 0; j < lane_count; ++j) fetch(w.data, x.index[k + j + look_ahead]);
    low += four_weights(w.data, x.index + k) * value.low;
    high += four_weights(w.data, x.index + k + 4) * value.high;
  }
  Lanes lanes;
  _mm256_storeu_pd(lanes.lane, low);
  _mm256_storeu_pd(lanes.lane + 4, high);
  return finish(w, x, k, lanes, extra, sum);
}
#endif

inline bool cpu_has_avx2() {
#ifdef MISTAKEBOUND_X86
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

// A compensated running sum (Neumaier): terms that are smaller than the sum by a factor of 1e16 still count.
struct Total {
  double sum = 0, rest = 0;
  void add(double term);
  double value() const { return sum + rest; }
};

inline void Total::add(double term) {
  const double next = sum + term;
  const double a = sum < 0 ? -sum : sum, b = term < 0 ? -term : term;
  rest += a >= b ? (sum - next) + term : (term - next) + sum;
  sum = next;
}

}  // namespace mistakebound
