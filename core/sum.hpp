// The one written summation order, used by every kernel and by the Python reference (reference.py):
//
//   non-zero k of an example, in the order given, is added to lane k mod 8; each product w*x is a float64 product;
//   the eight lanes are then reduced as  s_j = l_j + l_{j+4},  (s_0 + s_2) + (s_1 + s_3).
//
// No contraction into fused multiply-add (-ffp-contract=off), so scalar and AVX2 code agree bit for bit.
#pragma once
#include <cstddef>
#include <cstdint>

#include "example.hpp"

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

// The last, incomplete group of eight goes on in lanes 0, 1, ..., and so does `extra`, the term of the constant feature.
template <class Index, class Value>
[[gnu::always_inline]] inline double finish(const float* w, const Row<Index, Value>& x, std::size_t from, Lanes& lanes,
                                            double extra) {
  std::size_t j = 0;
  for (std::size_t k = from; k < x.size; ++k, ++j)
    lanes.lane[j] += static_cast<double>(w[x.index[k]]) * static_cast<double>(x.value[k]);
  lanes.lane[j] += extra;
  return lanes.total();
}

template <class Index, class Value>
inline double dot_portable(const float* w, const Row<Index, Value>& x, double extra) {
  // Eight named accumulators: gcc keeps them in registers, which it does not do for an array.
  double l0 = 0, l1 = 0, l2 = 0, l3 = 0, l4 = 0, l5 = 0, l6 = 0, l7 = 0;
  std::size_t k = 0;
  const auto term = [&](std::size_t i) {
    return static_cast<double>(w[x.index[i]]) * static_cast<double>(x.value[i]);
  };
  for (; k + lane_count <= x.size; k += lane_count) {
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
  return finish(w, x, k, lanes, extra);
}

#ifdef MISTAKEBOUND_X86
__attribute__((target("avx2"))) inline __m256d four(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
__attribute__((target("avx2"))) inline __m256d four(const double* p) { return _mm256_loadu_pd(p); }

// Four weights, by loads and shuffles: measured on Zen 3, the gather instruction is a fifth slower.
__attribute__((target("avx2"))) inline __m256d weights(const float* w, const std::int32_t* i) {
  const auto at = [w, i](int k) __attribute__((target("avx2"))) { return _mm_load_ss(w + static_cast<std::uint32_t>(i[k])); };
  return _mm256_cvtps_pd(_mm_movelh_ps(_mm_unpacklo_ps(at(0), at(1)), _mm_unpacklo_ps(at(2), at(3))));
}

template <class Value>
__attribute__((target("avx2"))) inline double dot_avx2(const float* w, const Row<std::int32_t, Value>& x, double extra) {
  __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
  std::size_t k = 0;
  for (; k + lane_count <= x.size; k += lane_count) {
    low = _mm256_add_pd(low, _mm256_mul_pd(weights(w, x.index + k), four(x.value + k)));
    high = _mm256_add_pd(high, _mm256_mul_pd(weights(w, x.index + k + 4), four(x.value + k + 4)));
  }
  Lanes lanes;
  _mm256_storeu_pd(lanes.lane, low);
  _mm256_storeu_pd(lanes.lane + 4, high);
  return finish(w, x, k, lanes, extra);
}

// Zeros among eight values, as a mask.
__attribute__((target("avx2"))) inline __m256i zeros(const float* p) {
  return _mm256_castps_si256(_mm256_cmp_ps(_mm256_loadu_ps(p), _mm256_setzero_ps(), _CMP_EQ_OQ));
}
__attribute__((target("avx2"))) inline __m256i zeros(const double* p) {
  const __m256d zero = _mm256_setzero_pd();
  const __m256d found = _mm256_or_pd(_mm256_cmp_pd(_mm256_loadu_pd(p), zero, _CMP_EQ_OQ),
                                     _mm256_cmp_pd(_mm256_loadu_pd(p + 4), zero, _CMP_EQ_OQ));
  return _mm256_castpd_si256(found);
}

// Whether some index is beyond `last` (as an unsigned number, so negative ones are too) or some value is a stored zero.
template <class Value>
__attribute__((target("avx2"))) inline bool irregular_avx2(const Row<std::int32_t, Value>& x, std::uint32_t last) {
  __m256i odd = _mm256_setzero_si256();
  const __m256i limit = _mm256_set1_epi32(static_cast<int>(last));
  std::size_t k = 0;
  for (; k + lane_count <= x.size; k += lane_count) {
    const __m256i index = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x.index + k));
    const __m256i beyond = _mm256_xor_si256(index, _mm256_min_epu32(index, limit));
    odd = _mm256_or_si256(odd, _mm256_or_si256(beyond, zeros(x.value + k)));
  }
  bool found = _mm256_testz_si256(odd, odd) == 0;
  for (; k < x.size; ++k) found |= static_cast<std::uint32_t>(x.index[k]) > last || x.value[k] == 0;
  return found;
}
#endif

inline bool cpu_has_avx2() {
#ifdef MISTAKEBOUND_X86
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

// A running sum that forgets nothing that float64 could tell (Neumaier): terms may shrink by 1e16 and still count.
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
