// Eight float32 at a time, with the same bits at every level of the processor: AVX2 has a register for them, every other
// machine takes two registers of four. A comparison returns a mask: integers that are −1 where it holds, else 0.
#pragma once
#include <cstddef>
#include <cstdint>

#include "experts/lanes.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

#ifdef MISTAKEBOUND_HAS_FOUR
using Floats = float __attribute__((vector_size(32)));
using Whole = std::int32_t __attribute__((vector_size(32)));

MISTAKEBOUND_INLINE Whole bits(Floats v) { return reinterpret_cast<Whole>(v); }
MISTAKEBOUND_INLINE Floats number(Whole v) { return reinterpret_cast<Floats>(v); }
MISTAKEBOUND_INLINE Floats choose(Whole m, Floats yes, Floats no) { return m ? yes : no; }
MISTAKEBOUND_INLINE Floats to_floats(Whole v) { return __builtin_convertvector(v, Floats); }
MISTAKEBOUND_INLINE Floats most(Floats a, Floats b) {
  return reinterpret_cast<Floats>(_mm256_max_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
}
MISTAKEBOUND_INLINE Floats least(Floats a, Floats b) {
  return reinterpret_cast<Floats>(_mm256_min_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
}
MISTAKEBOUND_INLINE Floats root(Floats v) { return reinterpret_cast<Floats>(_mm256_sqrt_ps(reinterpret_cast<__m256>(v))); }
MISTAKEBOUND_INLINE Floats floor(Floats v) { return reinterpret_cast<Floats>(_mm256_floor_ps(reinterpret_cast<__m256>(v))); }
#else
using Half = float __attribute__((vector_size(16)));
using HalfWhole = std::int32_t __attribute__((vector_size(16)));
struct Whole {
  HalfWhole low, high;
};
struct Floats {
  Half low, high;
};

#define MISTAKEBOUND_ARITHMETIC(op)                                                                             \
  MISTAKEBOUND_INLINE Floats operator op(Floats a, Floats b) { return {a.low op b.low, a.high op b.high}; }     \
  MISTAKEBOUND_INLINE Floats operator op(Floats a, float b) { return {a.low op b, a.high op b}; }               \
  MISTAKEBOUND_INLINE Floats operator op(float a, Floats b) { return {a op b.low, a op b.high}; }
MISTAKEBOUND_ARITHMETIC(+)
MISTAKEBOUND_ARITHMETIC(-)
MISTAKEBOUND_ARITHMETIC(*)
MISTAKEBOUND_ARITHMETIC(/)
#undef MISTAKEBOUND_ARITHMETIC
#define MISTAKEBOUND_COMPARISON(op)                                                                             \
  MISTAKEBOUND_INLINE Whole operator op(Floats a, float b) { return {a.low op b, a.high op b}; }
MISTAKEBOUND_COMPARISON(==)
MISTAKEBOUND_COMPARISON(>)
MISTAKEBOUND_COMPARISON(>=)
#undef MISTAKEBOUND_COMPARISON
#define MISTAKEBOUND_ON_BITS(op)                                                                                \
  MISTAKEBOUND_INLINE Whole operator op(Whole a, Whole b) { return {a.low op b.low, a.high op b.high}; }        \
  MISTAKEBOUND_INLINE Whole operator op(Whole a, std::int32_t b) { return {a.low op b, a.high op b}; }
MISTAKEBOUND_ON_BITS(&)
MISTAKEBOUND_ON_BITS(|)
MISTAKEBOUND_ON_BITS(-)
MISTAKEBOUND_ON_BITS(<<)
MISTAKEBOUND_ON_BITS(>>)
#undef MISTAKEBOUND_ON_BITS
MISTAKEBOUND_INLINE Floats& operator+=(Floats& a, Floats b) { return a = a + b; }
MISTAKEBOUND_INLINE Whole bits(Floats v) { return {reinterpret_cast<HalfWhole>(v.low), reinterpret_cast<HalfWhole>(v.high)}; }
MISTAKEBOUND_INLINE Floats number(Whole v) { return {reinterpret_cast<Half>(v.low), reinterpret_cast<Half>(v.high)}; }
MISTAKEBOUND_INLINE Half choose(HalfWhole m, Half yes, Half no) {
  return reinterpret_cast<Half>((reinterpret_cast<HalfWhole>(yes) & m) | (reinterpret_cast<HalfWhole>(no) & ~m));
}
MISTAKEBOUND_INLINE Floats choose(Whole m, Floats yes, Floats no) {
  return {choose(m.low, yes.low, no.low), choose(m.high, yes.high, no.high)};
}
MISTAKEBOUND_INLINE Floats to_floats(Whole v) {
  return {__builtin_convertvector(v.low, Half), __builtin_convertvector(v.high, Half)};
}
MISTAKEBOUND_INLINE Floats most(Floats a, Floats b) {
  return {choose(a.low > b.low, a.low, b.low), choose(a.high > b.high, a.high, b.high)};
}
MISTAKEBOUND_INLINE Floats least(Floats a, Floats b) {
  return {choose(a.low < b.low, a.low, b.low), choose(a.high < b.high, a.high, b.high)};
}
MISTAKEBOUND_INLINE Half root(Half v) {
  return Half{__builtin_sqrtf(v[0]), __builtin_sqrtf(v[1]), __builtin_sqrtf(v[2]), __builtin_sqrtf(v[3])};
}
MISTAKEBOUND_INLINE Floats root(Floats v) { return {root(v.low), root(v.high)}; }
// Of moderate numbers only: those that a 32-bit integer holds.
MISTAKEBOUND_INLINE Half floor(Half v) {
  const Half cut = __builtin_convertvector(__builtin_convertvector(v, HalfWhole), Half);
  return cut - choose(cut > v, Half{1, 1, 1, 1}, Half{});
}
MISTAKEBOUND_INLINE Floats floor(Floats v) { return {floor(v.low), floor(v.high)}; }
#endif

inline constexpr std::size_t lanes = 8;

MISTAKEBOUND_INLINE Floats load(const float* p) {
  Floats v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
MISTAKEBOUND_INLINE void store(float* p, Floats v) { __builtin_memcpy(p, &v, sizeof v); }
MISTAKEBOUND_INLINE Floats eight(float v) { return v - Floats{}; }
MISTAKEBOUND_INLINE Floats size(Floats v) { return number(bits(v) & 0x7fffffff); }
MISTAKEBOUND_INLINE Floats clip(Floats v, float limit) { return most(least(v, eight(limit)), eight(-limit)); }

// The written order: s_j = l_j + l_{j+4}, then (s_0 + s_2) + (s_1 + s_3).
MISTAKEBOUND_INLINE float sum(Floats v) {
  float l[lanes];
  store(l, v);
  const float s0 = l[0] + l[4], s1 = l[1] + l[5], s2 = l[2] + l[6], s3 = l[3] + l[7];
  return (s0 + s2) + (s1 + s3);
}

// ln x of a positive normal number, exactly 0 at 1: with x = 2^e·(1 + f), f from √½ − 1 to √2 − 1, Cephes' polynomial in f.
MISTAKEBOUND_INLINE Floats ln(Floats x) {
  const Whole e = (bits(x) - 0x3f3504f3) >> 23;
  const Floats f = number(bits(x) - (e << 23)) - 1.0f, f2 = f * f, f4 = f2 * f2;
  const Floats a = 3.3333331174e-1f - f * 2.4999993993e-1f, b = 2.0000714765e-1f - f * 1.6668057665e-1f;
  const Floats c = 1.4249322787e-1f - f * 1.2420140846e-1f, d = 1.1676998740e-1f - f * 1.1514610310e-1f;
  const Floats cubic = ((a + b * f2) + f4 * ((c + d * f2) + f4 * 7.0376836292e-2f)) * (f * f2);
  const Floats exponent = to_floats(e);
  return (f - (f2 * 0.5f - (cubic + exponent * -2.12194440e-4f))) + exponent * 0.693359375f;
}

// sinh(z + d) for w = sinh z and |d| ≤ ½, by the addition formula w·cosh d + √(1 + w²)·sinh d.
MISTAKEBOUND_INLINE Floats sinh_moved(Floats w, Floats d) {
  const Floats d2 = d * d;
  const Floats sinh = d * (1.0f + d2 * (1.0f / 6 + d2 * (1.0f / 120 + d2 * (1.0f / 5040))));
  const Floats cosh = 1.0f + d2 * (0.5f + d2 * (1.0f / 24 + d2 * (1.0f / 720)));
  return w * cosh + root(1.0f + w * w) * sinh;
}

// Eight records of eight floats become eight vectors, of which the k-th holds the k-th float of each record; and back.
#ifdef MISTAKEBOUND_HAS_FOUR
MISTAKEBOUND_INLINE void cross(__m256 a, __m256 b, __m256 c, __m256 d, __m256 out[4]) {
  const __m256 low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
  const __m256 low2 = _mm256_unpacklo_ps(c, d), high2 = _mm256_unpackhi_ps(c, d);
  out[0] = _mm256_shuffle_ps(low, low2, 0x44), out[1] = _mm256_shuffle_ps(low, low2, 0xee);
  out[2] = _mm256_shuffle_ps(high, high2, 0x44), out[3] = _mm256_shuffle_ps(high, high2, 0xee);
}
MISTAKEBOUND_INLINE void gather(const float* const record[lanes], Floats out[lanes]) {
#pragma GCC unroll 2
  for (std::size_t half = 0; half < lanes; half += 4) {
    __m256 two[4], crossed[4];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j)
      two[j] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_load_ps(record[j] + half)), _mm_load_ps(record[j + 4] + half), 1);
    cross(two[0], two[1], two[2], two[3], crossed);
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) out[half + j] = reinterpret_cast<Floats>(crossed[j]);
  }
}
MISTAKEBOUND_INLINE void scatter(const Floats in[lanes], float* const record[lanes]) {
#pragma GCC unroll 2
  for (std::size_t half = 0; half < lanes; half += 4) {
    __m256 crossed[4];
    const auto from = [&](std::size_t j) { return reinterpret_cast<__m256>(in[half + j]); };
    cross(from(0), from(1), from(2), from(3), crossed);
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) {
      _mm_store_ps(record[j] + half, _mm256_castps256_ps128(crossed[j]));
      _mm_store_ps(record[j + 4] + half, _mm256_extractf128_ps(crossed[j], 1));
    }
  }
}
#else
MISTAKEBOUND_INLINE void gather(const float* const record[lanes], Floats out[lanes]) {
  float cell[lanes][lanes];
  for (std::size_t j = 0; j < lanes; ++j)
    for (std::size_t k = 0; k < lanes; ++k) cell[k][j] = record[j][k];
  for (std::size_t k = 0; k < lanes; ++k) out[k] = load(cell[k]);
}
MISTAKEBOUND_INLINE void scatter(const Floats in[lanes], float* const record[lanes]) {
  float cell[lanes][lanes];
  for (std::size_t k = 0; k < lanes; ++k) store(cell[k], in[k]);
  for (std::size_t j = 0; j < lanes; ++j)
    for (std::size_t k = 0; k < lanes; ++k) record[j][k] = cell[k][j];
}
#endif

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
