// Four float32 at a time, with the same bits at every level of the processor (floats.hpp has eight). A comparison returns a mask:
// integers that are −1 where it holds, else 0.
#pragma once
#include <bit>
#include <cstdint>

#include "experts/lanes.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

using Half = float __attribute__((vector_size(16)));
using HalfWhole = std::int32_t __attribute__((vector_size(16)));

MISTAKEBOUND_INLINE HalfWhole bits(Half v) { return reinterpret_cast<HalfWhole>(v); }
MISTAKEBOUND_INLINE Half number(HalfWhole v) { return reinterpret_cast<Half>(v); }
MISTAKEBOUND_INLINE Half to_floats(HalfWhole v) { return __builtin_convertvector(v, Half); }
MISTAKEBOUND_INLINE Half choose(HalfWhole m, Half yes, Half no) { return number((bits(yes) & m) | (bits(no) & ~m)); }
MISTAKEBOUND_INLINE void store(float* p, Half v) { __builtin_memcpy(p, &v, sizeof v); }

#ifdef __SSE2__
MISTAKEBOUND_INLINE Half most(Half a, Half b) { return reinterpret_cast<Half>(_mm_max_ps(reinterpret_cast<__m128>(a), reinterpret_cast<__m128>(b))); }
MISTAKEBOUND_INLINE Half least(Half a, Half b) { return reinterpret_cast<Half>(_mm_min_ps(reinterpret_cast<__m128>(a), reinterpret_cast<__m128>(b))); }
MISTAKEBOUND_INLINE Half root(Half v) { return reinterpret_cast<Half>(_mm_sqrt_ps(reinterpret_cast<__m128>(v))); }
// A bit for each place where the mask holds.
MISTAKEBOUND_INLINE std::uint8_t places(HalfWhole m) { return static_cast<std::uint8_t>(_mm_movemask_ps(reinterpret_cast<__m128>(m))); }
#else
MISTAKEBOUND_INLINE Half most(Half a, Half b) { return choose(a > b, a, b); }
MISTAKEBOUND_INLINE Half least(Half a, Half b) { return choose(a < b, a, b); }
MISTAKEBOUND_INLINE Half root(Half v) {
  return Half{__builtin_sqrtf(v[0]), __builtin_sqrtf(v[1]), __builtin_sqrtf(v[2]), __builtin_sqrtf(v[3])};
}
MISTAKEBOUND_INLINE std::uint8_t places(HalfWhole m) {
  return static_cast<std::uint8_t>((m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8));
}
#endif

#ifdef MISTAKEBOUND_HAS_FOUR
MISTAKEBOUND_INLINE Half fused(Half a, Half b, Half c) {
  return reinterpret_cast<Half>(_mm_fmadd_ps(reinterpret_cast<__m128>(a), reinterpret_cast<__m128>(b), reinterpret_cast<__m128>(c)));
}
#else
// ab + c, rounded once. A product of two float32 is exact in float64. If its sum with c is not, its last bit is set to 1, so that
// rounding it again to float32 gives the right result (rounding to odd).
inline float fused(float a, float b, float c) {
#if defined(__x86_64__) && !defined(__FMA__)
  const double product = static_cast<double>(a) * static_cast<double>(b), wide = c, sum = product + wide;
  const double back = sum - product, error = (product - (sum - back)) + (wide - back);
  auto bits_of_sum = std::bit_cast<std::uint64_t>(sum);
  if (error != 0 && (bits_of_sum & 1U) == 0) bits_of_sum += (error > 0) == (sum > 0) ? 1U : ~std::uint64_t{0};
  return static_cast<float>(std::bit_cast<double>(bits_of_sum));
#else
  return __builtin_fmaf(a, b, c);
#endif
}
MISTAKEBOUND_INLINE Half fused(Half a, Half b, Half c) {
  return Half{fused(a[0], b[0], c[0]), fused(a[1], b[1], c[1]), fused(a[2], b[2], c[2]), fused(a[3], b[3], c[3])};
}
#endif

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
