// e^x by basic operations in one order, four at a time or one by one with the same bits; within 1 unit of the last digit.
#pragma once
#include <bit>
#include <cstdint>

#include "sum.hpp"

namespace mistakebound::exponential {

inline constexpr double least = -708, most = 709;
inline constexpr double small = 0x1p-5;  // up to here, seven terms are all that float64 can tell
inline constexpr double log2_e = 1.4426950408889634, ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
inline constexpr double rounder = 0x1.8p52;  // added and taken away, it leaves a whole number
// 1/j!
inline constexpr double term[] = {1.0,        1.0,         1.0 / 2,       1.0 / 6,        1.0 / 24,       1.0 / 120,       1.0 / 720,
                                  1.0 / 5040, 1.0 / 40320, 1.0 / 362880,  1.0 / 3628800,  1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};

inline double polynomial(double r, int degree) {
  double sum = term[degree];
  for (int j = degree - 1; j >= 0; --j) sum = sum * r + term[j];
  return sum;
}

inline double exp(double x) {
  if (x < least) return 0;
  if (x > most) x = most;
  const double whole = (x * log2_e + rounder) - rounder;
  const double r = (x - whole * ln2_high) - whole * ln2_low;
  const auto scale = static_cast<std::uint64_t>(static_cast<std::int64_t>(whole) + 1023) << 52;
  return polynomial(r, 13) * std::bit_cast<double>(scale);
}
// Of four values at once: what one of them needs, all get.
inline bool all_small(const double* x) {
  for (int j = 0; j < 4; ++j)
    if (!(x[j] <= small && x[j] >= -small)) return false;
  return true;
}

#ifdef MISTAKEBOUND_X86
template <int degree>
MISTAKEBOUND_AVX2 inline __m256d polynomial4(__m256d r) {
  __m256d sum = _mm256_set1_pd(term[degree]);
#pragma GCC unroll 16
  for (int j = degree - 1; j >= 0; --j) sum = _mm256_add_pd(_mm256_mul_pd(sum, r), _mm256_set1_pd(term[j]));
  return sum;
}
MISTAKEBOUND_AVX2 inline __m256d exp4(__m256d x) {
  const __m256d none = _mm256_cmp_pd(x, _mm256_set1_pd(least), _CMP_LT_OQ);
  x = _mm256_min_pd(x, _mm256_set1_pd(most));
  const __m256d shifted = _mm256_add_pd(_mm256_mul_pd(x, _mm256_set1_pd(log2_e)), _mm256_set1_pd(rounder));
  const __m256d whole = _mm256_sub_pd(shifted, _mm256_set1_pd(rounder));
  const __m256d r = _mm256_sub_pd(_mm256_sub_pd(x, _mm256_mul_pd(whole, _mm256_set1_pd(ln2_high))),
                                  _mm256_mul_pd(whole, _mm256_set1_pd(ln2_low)));
  // The last bits of `shifted` are the whole number.
  const __m256i scale = _mm256_slli_epi64(_mm256_add_epi64(_mm256_castpd_si256(shifted), _mm256_set1_epi64x(1023)), 52);
  return _mm256_andnot_pd(none, _mm256_mul_pd(polynomial4<13>(r), _mm256_castsi256_pd(scale)));
}
MISTAKEBOUND_AVX2 inline bool all_small4(__m256d x) {
  const __m256d size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
  return _mm256_movemask_pd(_mm256_cmp_pd(size, _mm256_set1_pd(small), _CMP_LE_OQ)) == 15;
}
#endif

}  // namespace mistakebound::exponential
