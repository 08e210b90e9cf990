// Four float64 and what their comparisons say: one register with AVX2, otherwise two of two, which every compiler turns into
// good code (four of them without, gcc takes apart).
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define MISTAKEBOUND_INLINE __attribute__((always_inline)) inline

namespace mistakebound::experts::MISTAKEBOUND_LEVEL {

#if defined(__AVX2__) && defined(__FMA__)
using Four = double __attribute__((vector_size(32)));
using Mask = decltype(Four{} < Four{});  // −1 where it holds, else 0

MISTAKEBOUND_INLINE Four all(double x) { return Four{x, x, x, x}; }
MISTAKEBOUND_INLINE Mask bits(Four v) { return reinterpret_cast<Mask>(v); }
MISTAKEBOUND_INLINE Four number(Mask m) { return reinterpret_cast<Four>(m); }
MISTAKEBOUND_INLINE Four choose(Mask m, Four yes, Four no) { return m ? yes : no; }
MISTAKEBOUND_INLINE bool any(Mask m) { return _mm256_movemask_pd(reinterpret_cast<__m256d>(m)) != 0; }
MISTAKEBOUND_INLINE bool every(Mask m) { return _mm256_movemask_pd(reinterpret_cast<__m256d>(m)) == 15; }
MISTAKEBOUND_INLINE Four root(Four v) { return reinterpret_cast<Four>(_mm256_sqrt_pd(reinterpret_cast<__m256d>(v))); }
MISTAKEBOUND_INLINE Four fused(Four a, Four b, Four c) {
  const auto as = [](Four v) { return reinterpret_cast<__m256d>(v); };
  return reinterpret_cast<Four>(_mm256_fmadd_pd(as(a), as(b), as(c)));
}
#else
using Two = double __attribute__((vector_size(16)));
using TwoMask = decltype(Two{} < Two{});
using Whole64 = std::remove_reference_t<decltype(TwoMask{}[0])>;

struct Mask {
  TwoMask low, high;
};
struct Four {
  Two low, high;
};
MISTAKEBOUND_INLINE Four all(double x) { return {Two{x, x}, Two{x, x}}; }

#define MISTAKEBOUND_ARITHMETIC(op)                                                                                    \
  MISTAKEBOUND_INLINE Four operator op(Four a, Four b) { return {a.low op b.low, a.high op b.high}; }                  \
  MISTAKEBOUND_INLINE Four operator op(Four a, double b) { return a op all(b); }                                       \
  MISTAKEBOUND_INLINE Four operator op(double a, Four b) { return all(a) op b; }                                       \
  MISTAKEBOUND_INLINE Four& operator op##=(Four& a, Four b) { return a = a op b; }
MISTAKEBOUND_ARITHMETIC(+)
MISTAKEBOUND_ARITHMETIC(-)
MISTAKEBOUND_ARITHMETIC(*)
MISTAKEBOUND_ARITHMETIC(/)
#undef MISTAKEBOUND_ARITHMETIC
MISTAKEBOUND_INLINE Four operator-(Four a) { return {-a.low, -a.high}; }

#define MISTAKEBOUND_COMPARISON(op)                                                                                    \
  MISTAKEBOUND_INLINE Mask operator op(Four a, Four b) { return {a.low op b.low, a.high op b.high}; }                  \
  MISTAKEBOUND_INLINE Mask operator op(Four a, double b) { return a op all(b); }
MISTAKEBOUND_COMPARISON(<)
MISTAKEBOUND_COMPARISON(<=)
MISTAKEBOUND_COMPARISON(>)
MISTAKEBOUND_COMPARISON(>=)
MISTAKEBOUND_COMPARISON(==)
#undef MISTAKEBOUND_COMPARISON

#define MISTAKEBOUND_BITWISE(op)                                                                                       \
  MISTAKEBOUND_INLINE Mask operator op(Mask a, Mask b) { return {a.low op b.low, a.high op b.high}; }                  \
  MISTAKEBOUND_INLINE Mask operator op(Mask a, Whole64 b) { return {a.low op b, a.high op b}; }
MISTAKEBOUND_BITWISE(&)
MISTAKEBOUND_BITWISE(|)
MISTAKEBOUND_BITWISE(+)
MISTAKEBOUND_BITWISE(-)
#undef MISTAKEBOUND_BITWISE
MISTAKEBOUND_INLINE Mask operator<<(Mask a, int by) { return {a.low << by, a.high << by}; }
MISTAKEBOUND_INLINE Mask operator>>(Mask a, int by) { return {a.low >> by, a.high >> by}; }
MISTAKEBOUND_INLINE Mask operator~(Mask a) { return {~a.low, ~a.high}; }
MISTAKEBOUND_INLINE Mask& operator|=(Mask& a, Mask b) { return a = a | b; }

MISTAKEBOUND_INLINE Mask bits(Four v) { return {reinterpret_cast<TwoMask>(v.low), reinterpret_cast<TwoMask>(v.high)}; }
MISTAKEBOUND_INLINE Four number(Mask m) { return {reinterpret_cast<Two>(m.low), reinterpret_cast<Two>(m.high)}; }
MISTAKEBOUND_INLINE Four choose(Mask m, Four yes, Four no) { return number((bits(yes) & m) | (bits(no) & ~m)); }
MISTAKEBOUND_INLINE bool any(Mask m) {
  const TwoMask both = m.low | m.high;
#ifdef __SSE2__
  return _mm_movemask_pd(reinterpret_cast<__m128d>(both)) != 0;
#else
  return (both[0] | both[1]) != 0;
#endif
}
MISTAKEBOUND_INLINE bool every(Mask m) { return !any(~m); }
MISTAKEBOUND_INLINE Two root(Two v) {
#ifdef __SSE2__
  return reinterpret_cast<Two>(_mm_sqrt_pd(reinterpret_cast<__m128d>(v)));
#else
  return Two{__builtin_sqrt(v[0]), __builtin_sqrt(v[1])};
#endif
}
MISTAKEBOUND_INLINE Four root(Four v) { return {root(v.low), root(v.high)}; }
MISTAKEBOUND_INLINE Two fused(Two a, Two b, Two c) {
  return Two{__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1])};
}
MISTAKEBOUND_INLINE Four fused(Four a, Four b, Four c) { return {fused(a.low, b.low, c.low), fused(a.high, b.high, c.high)}; }
#endif

// Whether `fused`, ab + c rounded once, is quick: an x86 of before 2013 needs hundreds of instructions.
inline bool fuses() {
#if defined(__x86_64__) && !defined(__FMA__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return true;
#endif
}

struct Numbers {
  double at[4];
};
MISTAKEBOUND_INLINE Numbers numbers(Four v) {
  Numbers n;
  static_assert(sizeof n == sizeof v);
  __builtin_memcpy(&n, &v, sizeof v);
  return n;
}
MISTAKEBOUND_INLINE Four load(const double* p) {
  Four v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
MISTAKEBOUND_INLINE void store(double* p, Four v) { __builtin_memcpy(p, &v, sizeof v); }

}  // namespace mistakebound::experts::MISTAKEBOUND_LEVEL
