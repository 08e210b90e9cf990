// Balanced Winnow's update of four features at once (AVX2): the same operations as rules.hpp, hence the same bits.
//
// Arithmetic uses operators on vectors, as in experts/lanes.hpp. Intrinsics are used only where there is no operator: loads of
// weights from their slots, conversions from and to float32, masks. The target is set per function, not per file as in
// experts/: an update is inlined into the loop over rows, and a call through a table of functions would slow down each row.
#pragma once
#include <algorithm>
#include <utility>

#include "play/sum.hpp"
#include "rules/rules.hpp"
#include "rules/slot.hpp"

#ifdef MISTAKEBOUND_X86
namespace mistakebound {

// sinh_of (elementary.hpp) of four numbers up to Sinh::largest, in two steps: first 2^k and q = e^r - 1, then the result.
struct Powers {
  __m256d two_k, q;
};
MISTAKEBOUND_AVX2 inline Powers four_powers(__m256d x) {
  const __m256d sum = x * log2_e + rounder, k = sum - rounder;
  const __m256d r = (x - k * ln2_high) - k * ln2_low, r2 = r * r, r4 = r2 * r2;
  const auto& t = Sinh::terms;
  const __m256d low = (t[0] + t[1] * r) + (t[2] + t[3] * r) * r2, high = (t[4] + t[5] * r) + (t[6] + t[7] * r) * r2;
  const __m256d tail = t[8] * (r4 * r4);
  const __m256i exponent = _mm256_slli_epi64(_mm256_castpd_si256(sum), 52);
  return {_mm256_castsi256_pd(_mm256_add_epi64(exponent, _mm256_set1_epi64x(std::int64_t{1023} << 52))),
          ((low + high * r4) + tail) * r};
}
MISTAKEBOUND_AVX2 inline __m256d four_sinh(const Powers it) {
  const __m256d e = it.two_k * it.q + (it.two_k - 1.0);
  return 0.5 * (e + e / (e + 1.0));
}

MISTAKEBOUND_AVX2 inline __m256d four_values(const double* x) { return _mm256_loadu_pd(x); }
MISTAKEBOUND_AVX2 inline __m256d four_values(const float* x) { return _mm256_cvtps_pd(_mm_loadu_ps(x)); }

// The constants of an update, passed by value so that they stay in registers.
struct Fours {
  __m256d label, eta, floor, square;
  WeightAndSum* slots;
};

// Update the first `count` of the four features at `at`. Add their new and old masses to `plus` and `less`. Return false,
// without any change, if eta |z| is above Sinh::largest.
template <bool Whole, class Value>
MISTAKEBOUND_AVX2 [[gnu::always_inline]] inline bool update_four(const Fours it, const std::int32_t* at, const Value* value,
                                                               std::size_t count, __m256d& plus, __m256d& less) {
  const auto slot = [&](std::size_t k) MISTAKEBOUND_AVX2 {
    return _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(it.slots + static_cast<std::uint32_t>(at[k]))));
  };
  const __m128 first = _mm_unpacklo_ps(slot(0), slot(1)), second = _mm_unpacklo_ps(slot(2), slot(3));  // w w z z
  const __m256d old = _mm256_cvtps_pd(_mm_movelh_ps(first, second)), before = _mm256_cvtps_pd(_mm_movehl_ps(second, first));
  const __m256d sign = _mm256_set1_pd(-0.0);
  const __m128 moved = _mm256_cvtpd_ps(before + it.label * four_values(value));
  const __m256d now = _mm256_cvtps_pd(moved), size = it.eta * _mm256_andnot_pd(sign, now);
  const __m256d beyond = _mm256_cmp_pd(size, _mm256_set1_pd(Sinh::largest), _CMP_NLE_UQ);
  if (_mm256_movemask_pd(beyond) != 0) [[unlikely]]
    return false;
  const __m256d negative = _mm256_and_pd(sign, _mm256_cmp_pd(now, _mm256_setzero_pd(), _CMP_LT_OQ));
  const __m128 weight = _mm256_cvtpd_ps(_mm256_or_pd(four_sinh(four_powers(size)) * it.floor, negative));
  const __m256d fresh = _mm256_cvtps_pd(weight);
  __m256d mass = _mm256_sqrt_pd(it.square + fresh * fresh);
  __m256d old_mass = _mm256_sqrt_pd(it.square + old * old);
  if constexpr (!Whole) {
    const __m256i number = _mm256_set1_epi64x(static_cast<std::int64_t>(count));
    const __m256d counts = _mm256_castsi256_pd(_mm256_cmpgt_epi64(number, _mm256_setr_epi64x(0, 1, 2, 3)));
    mass = _mm256_and_pd(mass, counts);
    old_mass = _mm256_and_pd(old_mass, counts);
  }
  plus += mass;
  less += old_mass;
  const auto put = [&](std::size_t k, __m128 two, bool upper) MISTAKEBOUND_AVX2 {
    if (!Whole && k >= count) return;
    auto* const to = reinterpret_cast<__m64*>(it.slots + static_cast<std::uint32_t>(at[k]));
    if (upper)
      _mm_storeh_pi(to, two);
    else
      _mm_storel_pi(to, two);
  };
  const __m128 low = _mm_unpacklo_ps(weight, moved), high = _mm_unpackhi_ps(weight, moved);
  put(0, low, false);
  put(1, low, true);
  put(2, high, false);
  put(3, high, true);
  return true;
}

// Update groups of four non-zeros from k on, until the end or until update_four returns false. The last group may have fewer.
// Return the position of the first non-zero that was not updated. k must be a multiple of four, and the shift at most
// Sinh::largest. Masses are added to lane k mod 8 (sum.hpp).
template <class Value>
MISTAKEBOUND_AVX2 inline std::size_t update_fours(const BalancedWinnow& rule, const Row<std::int32_t, Value>& x, std::size_t k,
                                                double label, WeightAndSum* slots, Lanes& new_masses, Lanes& old_masses) {
  const Fours it{_mm256_set1_pd(label), _mm256_set1_pd(rule.eta), _mm256_set1_pd(rule.floor),
                 _mm256_set1_pd(rule.floor * rule.floor), slots};
  // The half of the lanes for the current group, and the other half.
  std::size_t half = k / 4 % 2;
  __m256d plus = _mm256_loadu_pd(new_masses.lane + 4 * half), other_plus = _mm256_loadu_pd(new_masses.lane + 4 * (1 - half));
  __m256d less = _mm256_loadu_pd(old_masses.lane + 4 * half), other_less = _mm256_loadu_pd(old_masses.lane + 4 * (1 - half));
  for (; k + 4 <= x.size; k += 4) {
    if (!update_four<true>(it, x.index + k, x.value + k, 4, plus, less)) [[unlikely]]
      break;
    std::swap(plus, other_plus);
    std::swap(less, other_less);
    half = 1 - half;
  }
  if (const std::size_t count = x.size - k; count > 0 && count < 4) {
    std::int32_t index[4] = {x.index[k], x.index[k], x.index[k], x.index[k]};  // the unused ones are only read
    Value value[4] = {};
    std::copy_n(x.index + k, count, index);
    std::copy_n(x.value + k, count, value);
    if (update_four<false>(it, index, value, count, plus, less)) k = x.size;
  }
  _mm256_storeu_pd(new_masses.lane + 4 * half, plus);
  _mm256_storeu_pd(new_masses.lane + 4 * (1 - half), other_plus);
  _mm256_storeu_pd(old_masses.lane + 4 * half, less);
  _mm256_storeu_pd(old_masses.lane + 4 * (1 - half), other_less);
  return k;
}

// The same as update_fours for a whole row, in four short loops over a block of its non-zeros. In one long loop the steps of a
// group (e^x, a quotient, a root) are more instructions than the processor can look ahead. In a short loop it computes many
// groups at the same time.
template <class Value>
MISTAKEBOUND_AVX2 inline std::size_t update_row(const BalancedWinnow& rule, const Row<std::int32_t, Value>& x, double label,
                                                 WeightAndSum* slots, Lanes& new_masses, Lanes& old_masses) {
  constexpr std::size_t block = 128;
  alignas(32) float moved[block], weight[block];
  alignas(32) double two_k[block], q[block];
  const __m256d sign = _mm256_set1_pd(-0.0), y = _mm256_set1_pd(label), eta = _mm256_set1_pd(rule.eta);
  const __m256d floor = _mm256_set1_pd(rule.floor), square = _mm256_set1_pd(rule.floor * rule.floor);
  const __m256d largest = _mm256_set1_pd(Sinh::largest);
  const auto mass = [square](__m256d w) MISTAKEBOUND_AVX2 { return _mm256_sqrt_pd(square + w * w); };
  const auto reach = [sign, eta](__m256d z) MISTAKEBOUND_AVX2 { return eta * _mm256_andnot_pd(sign, z); };
  std::size_t done = 0;
  while (done < x.size) {
    const std::size_t size = std::min(block, x.size - done), whole = size / 4 * 4;
    // The last group is filled up with features that are only read.
    std::int32_t last_index[4] = {};
    Value last_value[4] = {};
    std::copy_n(x.index + done + whole, size - whole, last_index);
    std::copy_n(x.value + done + whole, size - whole, last_value);
    const __m256i left = _mm256_set1_epi64x(static_cast<std::int64_t>(size - whole));
    const __m256d counts = _mm256_castsi256_pd(_mm256_cmpgt_epi64(left, _mm256_setr_epi64x(0, 1, 2, 3)));
    const auto slot = [&](const std::int32_t* index) MISTAKEBOUND_AVX2 { return slots + static_cast<std::uint32_t>(*index); };
    const auto pair = [&](const std::int32_t* index) MISTAKEBOUND_AVX2 {
      return _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(slot(index))));
    };
    // First loop: the new z, and the masses of the old weights.
    __m256d beyond = _mm256_setzero_pd(), less[2] = {_mm256_loadu_pd(old_masses.lane), _mm256_loadu_pd(old_masses.lane + 4)};
    const auto first_loop = [&](const std::int32_t* index, const Value* value, std::size_t k) MISTAKEBOUND_AVX2 {
      const __m128 first = _mm_unpacklo_ps(pair(index), pair(index + 1)), second = _mm_unpacklo_ps(pair(index + 2), pair(index + 3));
      const __m256d old = _mm256_cvtps_pd(_mm_movelh_ps(first, second)), z = _mm256_cvtps_pd(_mm_movehl_ps(second, first));
      const __m128 now = _mm256_cvtpd_ps(z + y * four_values(value));
      _mm_store_ps(moved + k, now);
      beyond = _mm256_or_pd(beyond, _mm256_cmp_pd(reach(_mm256_cvtps_pd(now)), largest, _CMP_NLE_UQ));
      return mass(old);
    };
    for (std::size_t k = 0; k < whole; k += 4)
      less[k / 4 % 2] += first_loop(x.index + done + k, x.value + done + k, k);
    if (whole < size)
      less[whole / 4 % 2] += _mm256_and_pd(counts, first_loop(last_index, last_value, whole));
    if (_mm256_movemask_pd(beyond) != 0) [[unlikely]]
      return done;
    _mm256_storeu_pd(old_masses.lane, less[0]);
    _mm256_storeu_pd(old_masses.lane + 4, less[1]);
    // Second and third loop: the new weights.
    for (std::size_t k = 0; k < size; k += 4) {
      const Powers it = four_powers(reach(_mm256_cvtps_pd(_mm_load_ps(moved + k))));
      _mm256_store_pd(two_k + k, it.two_k);
      _mm256_store_pd(q + k, it.q);
    }
    for (std::size_t k = 0; k < size; k += 4) {
      const __m128 z = _mm_load_ps(moved + k);
      const __m256d now = _mm256_cvtps_pd(z), size_of_weight = four_sinh({_mm256_load_pd(two_k + k), _mm256_load_pd(q + k)});
      const __m256d negative = _mm256_and_pd(sign, _mm256_cmp_pd(now, _mm256_setzero_pd(), _CMP_LT_OQ));
      const __m128 w = _mm256_cvtpd_ps(_mm256_or_pd(size_of_weight * floor, negative));
      _mm_store_ps(weight + k, w);
      if (k == whole) break;
      const __m128 low = _mm_unpacklo_ps(w, z), high = _mm_unpackhi_ps(w, z);
      const std::int32_t* const index = x.index + done + k;
      _mm_storel_pi(reinterpret_cast<__m64*>(slot(index)), low);
      _mm_storeh_pi(reinterpret_cast<__m64*>(slot(index + 1)), low);
      _mm_storel_pi(reinterpret_cast<__m64*>(slot(index + 2)), high);
      _mm_storeh_pi(reinterpret_cast<__m64*>(slot(index + 3)), high);
    }
    for (std::size_t k = whole; k < size; ++k) *slot(x.index + done + k) = {weight[k], moved[k]};
    // Fourth loop: the masses of the new weights.
    __m256d plus[2] = {_mm256_loadu_pd(new_masses.lane), _mm256_loadu_pd(new_masses.lane + 4)};
    const auto last_loop = [&](std::size_t k) MISTAKEBOUND_AVX2 { return mass(_mm256_cvtps_pd(_mm_load_ps(weight + k))); };
    for (std::size_t k = 0; k < whole; k += 4) plus[k / 4 % 2] += last_loop(k);
    if (whole < size) plus[whole / 4 % 2] += _mm256_and_pd(counts, last_loop(whole));
    _mm256_storeu_pd(new_masses.lane, plus[0]);
    _mm256_storeu_pd(new_masses.lane + 4, plus[1]);
    done += size;
  }
  return done;
}

}  // namespace mistakebound
#endif
