// Eight float32 at a time, with the same bits at every level of the processor: AVX2 has a register for them, every other
// machine takes two registers of four. A comparison returns a mask: integers that are −1 where it holds, else 0.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include "experts/lanes.hpp"
#include "panel/half.hpp"
#include "panel/state.hpp"
#include "rules/elementary.hpp"

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
// ab + c and c − ab, rounded once.
MISTAKEBOUND_INLINE Floats fused(Floats a, Floats b, Floats c) {
  return reinterpret_cast<Floats>(_mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
}
MISTAKEBOUND_INLINE Floats fused_away(Floats a, Floats b, Floats c) {
  return reinterpret_cast<Floats>(_mm256_fnmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
}
// A bit for each place where the mask holds.
MISTAKEBOUND_INLINE std::uint8_t places(Whole m) { return static_cast<std::uint8_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(m))); }
MISTAKEBOUND_INLINE Floats floor(Floats v) { return reinterpret_cast<Floats>(_mm256_floor_ps(reinterpret_cast<__m256>(v))); }
#else
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
MISTAKEBOUND_ON_BITS(+)
MISTAKEBOUND_ON_BITS(-)
MISTAKEBOUND_ON_BITS(<<)
MISTAKEBOUND_ON_BITS(>>)
#undef MISTAKEBOUND_ON_BITS
MISTAKEBOUND_INLINE Floats& operator+=(Floats& a, Floats b) { return a = a + b; }
MISTAKEBOUND_INLINE Whole bits(Floats v) { return {bits(v.low), bits(v.high)}; }
MISTAKEBOUND_INLINE Floats number(Whole v) { return {number(v.low), number(v.high)}; }
MISTAKEBOUND_INLINE Floats choose(Whole m, Floats yes, Floats no) {
  return {choose(m.low, yes.low, no.low), choose(m.high, yes.high, no.high)};
}
MISTAKEBOUND_INLINE Floats to_floats(Whole v) { return {to_floats(v.low), to_floats(v.high)}; }
MISTAKEBOUND_INLINE Floats most(Floats a, Floats b) {
  return {most(a.low, b.low), most(a.high, b.high)};
}
MISTAKEBOUND_INLINE Floats least(Floats a, Floats b) {
  return {least(a.low, b.low), least(a.high, b.high)};
}
MISTAKEBOUND_INLINE Floats root(Floats v) { return {root(v.low), root(v.high)}; }
MISTAKEBOUND_INLINE Floats fused(Floats a, Floats b, Floats c) { return {fused(a.low, b.low, c.low), fused(a.high, b.high, c.high)}; }
MISTAKEBOUND_INLINE Floats fused_away(Floats a, Floats b, Floats c) {
  return {fused(-a.low, b.low, c.low), fused(-a.high, b.high, c.high)};
}
MISTAKEBOUND_INLINE std::uint8_t places(Whole m) {
  return static_cast<std::uint8_t>(places(m.low) | places(m.high) << 4);
}
// Of moderate numbers only: those that a 32-bit integer holds.
MISTAKEBOUND_INLINE Half floor(Half v) {
  const Half cut = __builtin_convertvector(__builtin_convertvector(v, HalfWhole), Half);
  return cut - choose(cut > v, Half{1, 1, 1, 1}, Half{});
}
MISTAKEBOUND_INLINE Floats floor(Floats v) { return {floor(v.low), floor(v.high)}; }
#endif

MISTAKEBOUND_INLINE Floats load(const float* p) {
  Floats v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
MISTAKEBOUND_INLINE Whole load(const std::int32_t* p) {
  Whole v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
MISTAKEBOUND_INLINE void store(float* p, Floats v) { __builtin_memcpy(p, &v, sizeof v); }
MISTAKEBOUND_INLINE Floats eight(float v) { return v - Floats{}; }
// The following functions are for eight numbers and for four.
template <class V>
MISTAKEBOUND_INLINE V every(float v) { return v - V{}; }
template <class V>
MISTAKEBOUND_INLINE V size(V v) { return number(bits(v) & 0x7fffffff); }
template <class V>
MISTAKEBOUND_INLINE V clip(V v, float limit) { return most(least(v, every<V>(limit)), every<V>(-limit)); }

// −1 in each place whose bit is set.
MISTAKEBOUND_INLINE Whole mask_of(unsigned places) {
  std::int32_t m[lanes];
  for (std::size_t j = 0; j < lanes; ++j) m[j] = -static_cast<std::int32_t>(places >> j & 1U);
  return load(m);
}
// A count is kept as an integer in the bits of its float: a float32 could not count beyond 2^24.
MISTAKEBOUND_INLINE Floats count_of(Floats v) { return to_floats(bits(v)); }
// Count one where the mask holds.
MISTAKEBOUND_INLINE Floats counted(Floats v, Whole mask) { return number(bits(v) - mask); }
// A count that is not whole, or very large, is kept as a negative float instead, whose size it is.
MISTAKEBOUND_INLINE Floats any_count_of(Floats v) { return choose(bits(v) >> 31, size(v), to_floats(bits(v))); }
// Add a weight to a count.
inline float count_more(float kept, double weight) {
  const auto whole = std::bit_cast<std::int32_t>(kept);
  const double sum = (whole < 0 ? -static_cast<double>(kept) : static_cast<double>(whole)) + weight;
  if (whole >= 0 && sum <= 0x1p30 && sum == static_cast<double>(static_cast<std::int32_t>(sum)))
    return std::bit_cast<float>(static_cast<std::int32_t>(sum));
  return -static_cast<float>(sum);
}

// The written order: s_j = l_j + l_{j+4}, then (s_0 + s_2) + (s_1 + s_3).
MISTAKEBOUND_INLINE float sum(Floats v) {
#ifdef MISTAKEBOUND_HAS_FOUR
  const __m256 l = reinterpret_cast<__m256>(v);
  const __m128 s = _mm_add_ps(_mm256_castps256_ps128(l), _mm256_extractf128_ps(l, 1)), t = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(t, _mm_movehdup_ps(t)));
#else
  const Half s = v.low + v.high;
  return (s[0] + s[2]) + (s[1] + s[3]);
#endif
}

// ab + c with a number for one or two of them.
template <class V>
MISTAKEBOUND_INLINE V fused(V a, float b, V c) { return fused(a, every<V>(b), c); }
template <class V>
MISTAKEBOUND_INLINE V fused(V a, V b, float c) { return fused(a, b, every<V>(c)); }
template <class V>
MISTAKEBOUND_INLINE V fused(V a, float b, float c) { return fused(a, every<V>(b), every<V>(c)); }

// ln x of a positive normal number, exactly 0 at 1. With x = 2^e·m, m from √½ to √2, and s = (m − 1)/(m + 1), which is below
// 0.172: ln m = 2(s + s³/3 + s⁵/5 + s⁷/7 + …), of which the next term is below 3e-8.
template <class V>
MISTAKEBOUND_INLINE V ln(V x) {
  const auto e = (bits(x) - 0x3f3504f3) >> 23;
  const V m = number(bits(x) - (e << 23)), s = (m - 1.0f) / (m + 1.0f), z = s * s;
  const V sum = fused(z, fused(z, 2.0f / 7, 2.0f / 5), 2.0f / 3), exponent = to_floats(e);
  return fused(exponent, 0.693359375f, fused(exponent, -2.12194440e-4f, fused(s * z, sum, s + s)));
}

// sinh(z + d) for w = sinh z and |d| ≤ ½, by the addition formula w·cosh d + √(1 + w²)·sinh d.
template <class V>
MISTAKEBOUND_INLINE V sinh_moved(V w, V d) {
  const V d2 = d * d;
  const V sinh = d * fused(d2, fused(d2, fused(d2, 1.0f / 5040, 1.0f / 120), 1.0f / 6), 1.0f);
  const V cosh = fused(d2, fused(d2, fused(d2, 1.0f / 720, 1.0f / 24), 0.5f), 1.0f);
  return fused(w, cosh, root(fused(w, w, 1.0f)) * sinh);
}

// The same for steps of any length.
template <class V>
inline V sinh_moved_far(V w, V d) {
  constexpr std::size_t count = sizeof(V) / sizeof(float);
  float from[count], by[count], moved[count];
  store(from, w), store(by, d), store(moved, sinh_moved(w, d));
  for (std::size_t j = 0; j < count; ++j) {
    if (!(__builtin_fabsf(by[j]) > .5f)) continue;
    const double step = by[j], e = exp_of(step > 60 ? 60 : step < -60 ? -60 : step), z = from[j];
    moved[j] = static_cast<float>(z * (.5 * (e + 1 / e)) + __builtin_sqrt(1 + z * z) * (.5 * (e - 1 / e)));
  }
  V to;
  __builtin_memcpy(&to, moved, sizeof to);
  return to;
}

// Whether all values are between 1e-30 and 1e30 in size; `largest` is the largest size.
MISTAKEBOUND_INLINE bool regular_values(const float* value, std::size_t size_of_row, float& largest) {
  constexpr float least_value = 1e-30f, largest_value = 1e30f;
  Floats most_so_far = eight(0), least_so_far = eight(largest_value);
  std::size_t k = 0;
  for (; k + lanes <= size_of_row; k += lanes) {
    // `most` returns its second argument if the first is NaN, so NaN is the first.
    const Floats v = size(load(value + k));
    most_so_far = choose(v > largest_value, eight(2 * largest_value), most(v, most_so_far));
    least_so_far = choose(v >= least_value, least(v, least_so_far), eight(0));
  }
  float most_of[lanes], least_of[lanes];
  store(most_of, most_so_far);
  store(least_of, least_so_far);
  bool good = true;
  largest = 0;
  for (std::size_t j = 0; j < lanes; ++j) {
    good &= least_of[j] >= least_value && most_of[j] <= largest_value;
    largest = most_of[j] > largest ? most_of[j] : largest;
  }
  for (; k < size_of_row; ++k) {
    const float v = __builtin_fabsf(value[k]);
    good &= v >= least_value && v <= largest_value;
    largest = v > largest ? v : largest;
  }
  return good;
}
// Whether all indices are at least 0 and below the count.
MISTAKEBOUND_INLINE bool below(const std::int32_t* index, std::size_t size_of_row, std::size_t count) {
  const auto last = static_cast<std::int32_t>(count) - 1;
  std::int32_t outside = 0;
  for (std::size_t k = 0; k < size_of_row; ++k) outside |= index[k] | (last - (index[k] < 0 ? 0 : index[k]));
  return outside >= 0;
}

// Eight records of four floats become four vectors, of which the k-th holds the k-th float of each record; and back.
#ifdef MISTAKEBOUND_HAS_FOUR
MISTAKEBOUND_INLINE void cross(__m256 a, __m256 b, __m256 c, __m256 d, __m256 out[4]) {
  const __m256 low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
  const __m256 low2 = _mm256_unpacklo_ps(c, d), high2 = _mm256_unpackhi_ps(c, d);
  out[0] = _mm256_shuffle_ps(low, low2, 0x44), out[1] = _mm256_shuffle_ps(low, low2, 0xee);
  out[2] = _mm256_shuffle_ps(high, high2, 0x44), out[3] = _mm256_shuffle_ps(high, high2, 0xee);
}
template <std::size_t First = 0, class Record>
MISTAKEBOUND_INLINE void gather_four(const Record* record, Floats out[4]) {
  __m256 two[4], crossed[4];
#pragma GCC unroll 4
  for (std::size_t j = 0; j < 4; ++j)
    two[j] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_load_ps(record[j] + First)), _mm_load_ps(record[j + 4] + First), 1);
  cross(two[0], two[1], two[2], two[3], crossed);
#pragma GCC unroll 4
  for (std::size_t j = 0; j < 4; ++j) out[j] = reinterpret_cast<Floats>(crossed[j]);
}
template <std::size_t First = 0>
MISTAKEBOUND_INLINE void scatter_four(const Floats in[4], float* const* record) {
  __m256 crossed[4];
  const auto from = [&](std::size_t j) __attribute__((always_inline)) { return reinterpret_cast<__m256>(in[j]); };
  cross(from(0), from(1), from(2), from(3), crossed);
#pragma GCC unroll 4
  for (std::size_t j = 0; j < 4; ++j) {
    _mm_store_ps(record[j] + First, _mm256_castps256_ps128(crossed[j]));
    _mm_store_ps(record[j + 4] + First, _mm256_extractf128_ps(crossed[j], 1));
  }
}
#else
template <std::size_t First = 0, class Record>
MISTAKEBOUND_INLINE void gather_four(const Record* record, Floats out[4]) {
  float cell[4][lanes];
  for (std::size_t j = 0; j < lanes; ++j)
    for (std::size_t k = 0; k < 4; ++k) cell[k][j] = record[j][First + k];
  for (std::size_t k = 0; k < 4; ++k) out[k] = load(cell[k]);
}
template <std::size_t First = 0>
MISTAKEBOUND_INLINE void scatter_four(const Floats in[4], float* const* record) {
  float cell[4][lanes];
  for (std::size_t k = 0; k < 4; ++k) store(cell[k], in[k]);
  for (std::size_t j = 0; j < lanes; ++j)
    for (std::size_t k = 0; k < 4; ++k) record[j][First + k] = cell[k][j];
}
#endif
// The same for records of eight floats, from the `First` float on.
template <std::size_t First = 0, class Record>
MISTAKEBOUND_INLINE void gather(const Record* record, Floats out[lanes]) {
  gather_four<First>(record, out);
  gather_four<First + 4>(record, out + 4);
}
template <std::size_t First = 0>
MISTAKEBOUND_INLINE void scatter(const Floats in[lanes], float* const* record) {
  scatter_four<First>(in, record);
  scatter_four<First + 4>(in + 4, record);
}

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
