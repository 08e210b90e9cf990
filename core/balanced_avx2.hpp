// Balanced Winnow's update of four features at once (AVX2): the same operations as rules.hpp, so the same bits.
#pragma once
#include "rules.hpp"
#include "sum.hpp"

#ifdef MISTAKEBOUND_X86
namespace mistakebound {

// Four copies of sinh_of (rules.hpp), for x within its reach.
MISTAKEBOUND_AVX2 inline __m256d four_sinh(__m256d x) {
  const __m256d one = _mm256_set1_pd(1.0), half = _mm256_set1_pd(0.5);
  const __m256d k = _mm256_floor_pd(_mm256_add_pd(_mm256_mul_pd(x, _mm256_set1_pd(Sinh::log2_e)), half));
  const __m256d r = _mm256_sub_pd(_mm256_sub_pd(x, _mm256_mul_pd(k, _mm256_set1_pd(Sinh::ln2_high))),
                                  _mm256_mul_pd(k, _mm256_set1_pd(Sinh::ln2_low)));
  __m256d q = _mm256_set1_pd(Sinh::terms[0]);
  for (std::size_t i = 1; i < Sinh::count; ++i) q = _mm256_add_pd(_mm256_mul_pd(q, r), _mm256_set1_pd(Sinh::terms[i]));
  q = _mm256_mul_pd(q, r);
  const __m256i exponent = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(k)), _mm256_set1_epi64x(1023));
  const __m256d two_k = _mm256_castsi256_pd(_mm256_slli_epi64(exponent, 52));
  const __m256d e = _mm256_add_pd(_mm256_mul_pd(two_k, q), _mm256_sub_pd(two_k, one));
  return _mm256_mul_pd(half, _mm256_add_pd(e, _mm256_div_pd(e, _mm256_add_pd(e, one))));
}

MISTAKEBOUND_AVX2 inline __m256d four_values(const double* x) { return _mm256_loadu_pd(x); }
MISTAKEBOUND_AVX2 inline __m256d four_values(const float* x) { return _mm256_cvtps_pd(_mm_loadu_ps(x)); }

// As many groups of four non-zeros from k on as have four different features and weights within reach. Returns where it
// stopped; k is a multiple of four, the shift within reach. Masses go to lane k mod 8, as everywhere.
template <class Value>
MISTAKEBOUND_AVX2 inline std::size_t move_fours(const BalancedWinnow& rule, const Row<std::int32_t, Value>& x, std::size_t k,
                                                double label, float* z, float* w, Lanes& added, Lanes& taken) {
  const __m256d y = _mm256_set1_pd(label), eta = _mm256_set1_pd(rule.eta), sign = _mm256_set1_pd(-0.0);
  const __m256d floor = _mm256_set1_pd(rule.floor), square = _mm256_set1_pd(rule.floor * rule.floor);
  const __m256d reach = _mm256_set1_pd(Sinh::largest);
  __m256d plus[2] = {_mm256_loadu_pd(added.lane), _mm256_loadu_pd(added.lane + 4)};
  __m256d less[2] = {_mm256_loadu_pd(taken.lane), _mm256_loadu_pd(taken.lane + 4)};
  for (; k + 4 <= x.size; k += 4) {
    const std::int32_t* const at = x.index + k;
    const __m128i index = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i same = _mm_or_si128(_mm_cmpeq_epi32(index, _mm_shuffle_epi32(index, 0x39)),
                                      _mm_cmpeq_epi32(index, _mm_shuffle_epi32(index, 0x4E)));
    const __m256d before = four_weights(z, at), old = four_weights(w, at);
    const __m128 moved = _mm256_cvtpd_ps(_mm256_add_pd(before, _mm256_mul_pd(y, four_values(x.value + k))));
    const __m256d now = _mm256_cvtps_pd(moved), size = _mm256_mul_pd(eta, _mm256_andnot_pd(sign, now));
    const __m256d beyond = _mm256_cmp_pd(size, reach, _CMP_NLE_UQ);
    if (_mm_testz_si128(same, same) == 0 || _mm256_movemask_pd(beyond) != 0) [[unlikely]]
      break;
    const __m256d negative = _mm256_and_pd(sign, _mm256_cmp_pd(now, _mm256_setzero_pd(), _CMP_LT_OQ));
    const __m128 weight = _mm256_cvtpd_ps(_mm256_or_pd(_mm256_mul_pd(four_sinh(size), floor), negative));
    const __m256d fresh = _mm256_cvtps_pd(weight);
    const auto mass = [square](__m256d v) MISTAKEBOUND_AVX2 {
      return _mm256_sqrt_pd(_mm256_add_pd(square, _mm256_mul_pd(v, v)));
    };
    const std::size_t half = k / 4 % 2;
    plus[half] = _mm256_add_pd(plus[half], mass(fresh));
    less[half] = _mm256_add_pd(less[half], mass(old));
    alignas(16) float new_z[4], new_w[4];
    _mm_store_ps(new_z, moved);
    _mm_store_ps(new_w, weight);
    for (std::size_t j = 0; j < 4; ++j) {
      z[at[j]] = new_z[j];
      w[at[j]] = new_w[j];
    }
  }
  for (std::size_t half = 0; half < 2; ++half) {
    _mm256_storeu_pd(added.lane + 4 * half, plus[half]);
    _mm256_storeu_pd(taken.lane + 4 * half, less[half]);
  }
  return k;
}

}  // namespace mistakebound
#endif
