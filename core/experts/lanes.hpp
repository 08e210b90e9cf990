// Vectors of float64, Four and Eight, with the same operations at every SIMD level. AVX-512 has a register for each. AVX2 uses
// two registers of four for an Eight. Other processors use registers of two, for which all compilers make good code (gcc splits
// a vector that is wider than a register into single numbers).
//
// A comparison returns a mask: an integer for each element, −1 where it is true, otherwise 0.
#pragma once
#include <cstddef>
#include <cstdint>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(__AVX2__) && defined(__FMA__)
#define MISTAKEBOUND_HAS_FOUR
#endif
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define MISTAKEBOUND_HAS_EIGHT
#endif
#define MISTAKEBOUND_INLINE __attribute__((always_inline)) inline

namespace mistakebound::experts::MISTAKEBOUND_LEVEL {

using Two = double __attribute__((vector_size(16)));
using TwoMask = decltype(Two{} < Two{});

MISTAKEBOUND_INLINE TwoMask bits(Two v) { return reinterpret_cast<TwoMask>(v); }
MISTAKEBOUND_INLINE Two number(TwoMask m) { return reinterpret_cast<Two>(m); }
MISTAKEBOUND_INLINE Two choose(TwoMask m, Two yes, Two no) { return number((bits(yes) & m) | (bits(no) & ~m)); }
MISTAKEBOUND_INLINE bool any(TwoMask m) {
#ifdef __SSE2__
  return _mm_movemask_pd(reinterpret_cast<__m128d>(m)) != 0;
#else
  return (m[0] | m[1]) != 0;
#endif
}
MISTAKEBOUND_INLINE Two root(Two v) {
#ifdef __SSE2__
  return reinterpret_cast<Two>(_mm_sqrt_pd(reinterpret_cast<__m128d>(v)));
#else
  return Two{__builtin_sqrt(v[0]), __builtin_sqrt(v[1])};
#endif
}
MISTAKEBOUND_INLINE Two fused(Two a, Two b, Two c) {
  return Two{__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1])};
}
// The larger and the smaller element. If one is NaN, the second one.
MISTAKEBOUND_INLINE Two most(Two a, Two b) { return choose(a > b, a, b); }
MISTAKEBOUND_INLINE Two least(Two a, Two b) { return choose(a < b, a, b); }

#ifdef MISTAKEBOUND_HAS_FOUR
using Four = double __attribute__((vector_size(32)));
using Mask = decltype(Four{} < Four{});

MISTAKEBOUND_INLINE __m256d intel(Four v) { return reinterpret_cast<__m256d>(v); }
MISTAKEBOUND_INLINE Mask bits(Four v) { return reinterpret_cast<Mask>(v); }
MISTAKEBOUND_INLINE Four number(Mask m) { return reinterpret_cast<Four>(m); }
MISTAKEBOUND_INLINE Four choose(Mask m, Four yes, Four no) { return m ? yes : no; }
MISTAKEBOUND_INLINE bool any(Mask m) { return _mm256_movemask_pd(reinterpret_cast<__m256d>(m)) != 0; }
MISTAKEBOUND_INLINE Four root(Four v) { return reinterpret_cast<Four>(_mm256_sqrt_pd(intel(v))); }
MISTAKEBOUND_INLINE Four fused(Four a, Four b, Four c) {
  return reinterpret_cast<Four>(_mm256_fmadd_pd(intel(a), intel(b), intel(c)));
}
MISTAKEBOUND_INLINE Four most(Four a, Four b) { return reinterpret_cast<Four>(_mm256_max_pd(intel(a), intel(b))); }
MISTAKEBOUND_INLINE Four least(Four a, Four b) { return reinterpret_cast<Four>(_mm256_min_pd(intel(a), intel(b))); }
#endif

#ifdef MISTAKEBOUND_HAS_EIGHT
using Eight = double __attribute__((vector_size(64)));
using EightMask = decltype(Eight{} < Eight{});

MISTAKEBOUND_INLINE __m512d intel(Eight v) { return reinterpret_cast<__m512d>(v); }
MISTAKEBOUND_INLINE EightMask bits(Eight v) { return reinterpret_cast<EightMask>(v); }
MISTAKEBOUND_INLINE Eight number(EightMask m) { return reinterpret_cast<Eight>(m); }
MISTAKEBOUND_INLINE Eight choose(EightMask m, Eight yes, Eight no) { return m ? yes : no; }
MISTAKEBOUND_INLINE bool any(EightMask m) { return _mm512_movepi64_mask(reinterpret_cast<__m512i>(m)) != 0; }
MISTAKEBOUND_INLINE Eight fused(Eight a, Eight b, Eight c) {
  return reinterpret_cast<Eight>(_mm512_fmadd_pd(intel(a), intel(b), intel(c)));
}
// With a mask of all lanes, because gcc 12 has a wrong warning about uninitialised values for those without a mask.
MISTAKEBOUND_INLINE Eight most(Eight a, Eight b) {
  return reinterpret_cast<Eight>(_mm512_maskz_max_pd(0xff, intel(a), intel(b)));
}
MISTAKEBOUND_INLINE Eight least(Eight a, Eight b) {
  return reinterpret_cast<Eight>(_mm512_maskz_min_pd(0xff, intel(a), intel(b)));
}
// The same as the functions with these names below, in one instruction each.
MISTAKEBOUND_INLINE Eight most_size(Eight a, Eight b) {
  constexpr int larger_size = 3, without_sign = 2 << 2;
  return reinterpret_cast<Eight>(_mm512_maskz_range_pd(0xff, intel(a), intel(b), larger_size | without_sign));
}
MISTAKEBOUND_INLINE Eight load_part(const double* p, std::size_t count, Eight beyond) {
  return reinterpret_cast<Eight>(_mm512_mask_loadu_pd(intel(beyond), static_cast<__mmask8>((1U << count) - 1), p));
}
MISTAKEBOUND_INLINE bool within(Eight a, Eight b) { return _mm512_cmp_pd_mask(intel(a), intel(b), _CMP_LE_OQ) == 0xff; }
#endif

// A vector of twice the width, for processors without a register of that width.
template <class V>
struct Pair {
  V low, high;
};

#define MISTAKEBOUND_OPERATION(op)                                                                                     \
  template <class V>                                                                                                   \
  MISTAKEBOUND_INLINE auto operator op(Pair<V> a, Pair<V> b) -> Pair<decltype(a.low op b.low)> {                       \
    return {a.low op b.low, a.high op b.high};                                                                         \
  }                                                                                                                    \
  template <class V, class Number>                                                                                     \
  MISTAKEBOUND_INLINE auto operator op(Pair<V> a, Number b) -> Pair<decltype(a.low op b)> {                            \
    return {a.low op b, a.high op b};                                                                                  \
  }
#define MISTAKEBOUND_ARITHMETIC(op)                                                                                    \
  MISTAKEBOUND_OPERATION(op)                                                                                           \
  template <class V>                                                                                                   \
  MISTAKEBOUND_INLINE Pair<V> operator op(double a, Pair<V> b) {                                                       \
    return {a op b.low, a op b.high};                                                                                  \
  }                                                                                                                    \
  template <class V>                                                                                                   \
  MISTAKEBOUND_INLINE Pair<V>& operator op##=(Pair<V>& a, Pair<V> b) {                                                 \
    return a = a op b;                                                                                                 \
  }
MISTAKEBOUND_ARITHMETIC(+)
MISTAKEBOUND_ARITHMETIC(-)
MISTAKEBOUND_ARITHMETIC(*)
MISTAKEBOUND_ARITHMETIC(/)
MISTAKEBOUND_OPERATION(<)
MISTAKEBOUND_OPERATION(<=)
MISTAKEBOUND_OPERATION(>)
MISTAKEBOUND_OPERATION(>=)
MISTAKEBOUND_OPERATION(==)
MISTAKEBOUND_OPERATION(&)
MISTAKEBOUND_OPERATION(|)
MISTAKEBOUND_OPERATION(<<)
MISTAKEBOUND_OPERATION(>>)
#undef MISTAKEBOUND_ARITHMETIC
#undef MISTAKEBOUND_OPERATION

template <class V>
MISTAKEBOUND_INLINE Pair<V> operator-(Pair<V> a) {
  return {-a.low, -a.high};
}
template <class V>
MISTAKEBOUND_INLINE Pair<V> operator~(Pair<V> a) {
  return {~a.low, ~a.high};
}
template <class V>
MISTAKEBOUND_INLINE Pair<V>& operator|=(Pair<V>& a, Pair<V> b) {
  return a = a | b;
}
template <class V>
MISTAKEBOUND_INLINE auto bits(Pair<V> v) -> Pair<decltype(bits(v.low))> {
  return {bits(v.low), bits(v.high)};
}
template <class M>
MISTAKEBOUND_INLINE auto number(Pair<M> m) -> Pair<decltype(number(m.low))> {
  return {number(m.low), number(m.high)};
}
template <class M, class V>
MISTAKEBOUND_INLINE Pair<V> choose(Pair<M> m, Pair<V> yes, Pair<V> no) {
  return {choose(m.low, yes.low, no.low), choose(m.high, yes.high, no.high)};
}
template <class M>
MISTAKEBOUND_INLINE bool any(Pair<M> m) {
  return any(m.low | m.high);
}
template <class V>
MISTAKEBOUND_INLINE Pair<V> root(Pair<V> v) {
  return {root(v.low), root(v.high)};
}
template <class V>
MISTAKEBOUND_INLINE Pair<V> fused(Pair<V> a, Pair<V> b, Pair<V> c) {
  return {fused(a.low, b.low, c.low), fused(a.high, b.high, c.high)};
}
template <class V>
MISTAKEBOUND_INLINE Pair<V> most(Pair<V> a, Pair<V> b) {
  return {most(a.low, b.low), most(a.high, b.high)};
}
template <class V>
MISTAKEBOUND_INLINE Pair<V> least(Pair<V> a, Pair<V> b) {
  return {least(a.low, b.low), least(a.high, b.high)};
}

#ifndef MISTAKEBOUND_HAS_FOUR
using Four = Pair<Two>;
using Mask = Pair<TwoMask>;
#endif
#ifndef MISTAKEBOUND_HAS_EIGHT
using Eight = Pair<Four>;
#endif

template <class V>
inline constexpr std::size_t lanes_of = sizeof(V) / sizeof(double);

// Whether `fused`, ab + c rounded once, is fast. An x86 processor from before 2013 needs hundreds of instructions.
inline bool fuses() {
#if defined(__x86_64__) && !defined(__FMA__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return true;
#endif
}

// Bytes of one register. Wider vectors leave more experts of a row to the scalar code, and were not faster.
#ifdef MISTAKEBOUND_HAS_FOUR
using Bytes = std::uint8_t __attribute__((vector_size(32)));
#else
using Bytes = std::uint8_t __attribute__((vector_size(16)));
#endif
MISTAKEBOUND_INLINE Bytes load(const std::uint8_t* p) {
  Bytes v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
MISTAKEBOUND_INLINE void store(std::uint8_t* p, Bytes v) { __builtin_memcpy(p, &v, sizeof v); }

template <class V = Four>
struct Numbers {
  double at[lanes_of<V>];
};
template <class V>
MISTAKEBOUND_INLINE Numbers<V> numbers(V v) {
  Numbers<V> n;
  static_assert(sizeof n == sizeof v);
  __builtin_memcpy(&n, &v, sizeof v);
  return n;
}
// A pair is copied half by half, because gcc copies a whole pair through memory.
template <class V>
struct Memory {
  static MISTAKEBOUND_INLINE V load(const double* p) {
    V v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  static MISTAKEBOUND_INLINE void store(double* p, V v) { __builtin_memcpy(p, &v, sizeof v); }
};
template <class V>
struct Memory<Pair<V>> {
  static MISTAKEBOUND_INLINE Pair<V> load(const double* p) { return {Memory<V>::load(p), Memory<V>::load(p + lanes_of<V>)}; }
  static MISTAKEBOUND_INLINE void store(double* p, Pair<V> v) {
    Memory<V>::store(p, v.low);
    Memory<V>::store(p + lanes_of<V>, v.high);
  }
};
template <class V = Four>
MISTAKEBOUND_INLINE V load(const double* p) {
  return Memory<V>::load(p);
}
template <class V>
MISTAKEBOUND_INLINE void store(double* p, V v) {
  Memory<V>::store(p, v);
}
template <class V = Four>
MISTAKEBOUND_INLINE V all(double x) {
  return x - V{};  // not V{} + x, which changes −0 to 0
}
// A vector of four numbers, made in registers: a vector that is loaded right after its numbers were stored makes the processor
// wait.
MISTAKEBOUND_INLINE Four four(double a, double b, double c, double d) {
#ifdef MISTAKEBOUND_HAS_FOUR
  return Four{a, b, c, d};
#else
  return {Two{a, b}, Two{c, d}};
#endif
}
// The first `count` elements from memory, and `beyond` for the others.
template <class V>
MISTAKEBOUND_INLINE V load_part(const double* p, std::size_t count, V beyond) {
  Numbers<V> v;
  store(v.at, beyond);
  for (std::size_t j = 0; j < count; ++j) v.at[j] = p[j];
  return load<V>(v.at);
}
template <class V>
MISTAKEBOUND_INLINE Pair<V> load_part(const double* p, std::size_t count, Pair<V> beyond) {
  constexpr std::size_t half = lanes_of<V>;
  if (count < half) return {load_part(p, count, beyond.low), beyond.high};
  return {load<V>(p), count > half ? load_part(p + half, count - half, beyond.high) : beyond.high};
}
template <class M>
MISTAKEBOUND_INLINE bool every(M m) {
  return !any(~m);
}
template <class V>
MISTAKEBOUND_INLINE V size(V v) {
  return number(bits(v) & 0x7fffffffffffffffLL);
}
// The larger of |a| and b, where b must not be negative. It is b if a is NaN.
template <class V>
MISTAKEBOUND_INLINE V most_size(V a, V b) {
  return most(size(a), b);
}
// Whether each element of a is at most that of b.
template <class V>
MISTAKEBOUND_INLINE bool within(V a, V b) {
  return every(a <= b);
}
template <class M, class V>
MISTAKEBOUND_INLINE V where(M m, V v) {  // else 0
  return number(bits(v) & m);
}

// The first number of a vector, without a copy through memory.
MISTAKEBOUND_INLINE double first_of(Four v) {
#ifdef MISTAKEBOUND_HAS_FOUR
  return v[0];
#else
  return v.low[0];
#endif
}

// The order of the sum: (l_0 + l_2) + (l_1 + l_3) of four lanes; of eight lanes first l_j + l_{j+4}.
MISTAKEBOUND_INLINE double sum(Four v) {
#ifdef MISTAKEBOUND_HAS_FOUR  // in registers: gcc reads the numbers of a vector from memory
  const __m128d s = _mm_add_pd(_mm256_castpd256_pd128(intel(v)), _mm256_extractf128_pd(intel(v), 1));
  return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
#else
  const Numbers<Four> n = numbers(v);
  return (n.at[0] + n.at[2]) + (n.at[1] + n.at[3]);
#endif
}
MISTAKEBOUND_INLINE double sum(Eight v) {
  const Numbers<Eight> n = numbers(v);
  return sum(load(n.at) + load(n.at + 4));
}

}  // namespace mistakebound::experts::MISTAKEBOUND_LEVEL
