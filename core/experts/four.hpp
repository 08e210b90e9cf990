// Four float64 at once, with e^x and ln x from basic operations: the same bits whatever instructions they become (but an
// x86 without fused multiply-add takes the other formula for a little exponent).
#pragma once
#include "experts/lanes.hpp"

namespace mistakebound::experts::MISTAKEBOUND_LEVEL {

inline constexpr double infinity = __builtin_inf();

// Asks for what may lie beyond the end: a wrong address does no harm.
MISTAKEBOUND_INLINE void fetch(const double* from, std::size_t at) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(from) + at * sizeof(double)));
}

MISTAKEBOUND_INLINE double sum(Four v) {
  const Numbers n = numbers(v);
  return (n.at[0] + n.at[2]) + (n.at[1] + n.at[3]);
}
// The second if the first is NaN.
MISTAKEBOUND_INLINE Four most(Four a, Four b) { return choose(a > b, a, b); }
MISTAKEBOUND_INLINE Four least(Four a, Four b) { return choose(a < b, a, b); }
MISTAKEBOUND_INLINE double larger(double a, double b) { return a > b ? a : b; }
MISTAKEBOUND_INLINE double smaller(double a, double b) { return a < b ? a : b; }
MISTAKEBOUND_INLINE double top(Four v) {
  const Numbers n = numbers(v);
  return larger(larger(n.at[0], n.at[1]), larger(n.at[2], n.at[3]));
}
MISTAKEBOUND_INLINE double bottom(Four v) { return -top(-v); }
MISTAKEBOUND_INLINE Four size(Four v) { return number(bits(v) & 0x7fffffffffffffffLL); }
MISTAKEBOUND_INLINE Four where(Mask m, Four a) { return number(bits(a) & m); }  // else 0

inline constexpr double rounder = 0x1.8p52;  // added and taken away, it leaves a whole number
inline constexpr double log2_e = 1.4426950408889634, ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;

// e^x, 0 below e^−708; x above 709 is taken for 709.
MISTAKEBOUND_INLINE Four exp(Four x) {
  const Mask none = x < -708.0;
  x = least(x, all(709));
  const Four shifted = x * log2_e + rounder;
  const Four whole = shifted - rounder;
  const Four r = (x - whole * ln2_high) - whole * ln2_low;
  // Taylor's polynomial of degree 13, in pairs, which do not wait for each other.
  const Four r2 = r * r, r4 = r2 * r2;
  const Four low = (r * (1.0 / 6) + 0.5) + r2 * (r * (1.0 / 120) + 1.0 / 24);
  const Four middle = (r * (1.0 / 5040) + 1.0 / 720) + r2 * (r * (1.0 / 362880) + 1.0 / 40320);
  const Four high = (r * (1.0 / 39916800) + 1.0 / 3628800) + r2 * (r * (1.0 / 6227020800) + 1.0 / 479001600);
  const Four sum = (r + r2 * ((low + r4 * middle) + (r4 * r4) * high)) + 1.0;
  // The last bits of `shifted` are the whole number.
  const Mask scale = (bits(shifted) + 1023) << 52;
  return where(~none, sum * number(scale));
}

// e^(cx) for |cx| ≤ a = 1/32: Taylor's polynomial of degree 7, whose last term is made one of degree 5 by Chebyshev's
// x⁷ ≈ (7/4)a²x⁵ − (7/8)a⁴x³ + (7/64)a⁶x, with an error of a⁷/64. The powers of c are in the coefficients.
struct Little {
  Four c1, c2, c3, c4, c5, c6, largest_square;

  explicit Little(double c) {
    constexpr double a = 0x1p-5, a2 = a * a;
    const double square = c * c, cube = square * c;
    c1 = all(c * (1 + 7.0 / 64 * (a2 * a2 * a2) / 5040)), c2 = all(square * (1.0 / 2));
    c3 = all(cube * (1.0 / 6 - 7.0 / 8 * (a2 * a2) / 5040)), c4 = all(square * square * (1.0 / 24));
    c5 = all(square * cube * (1.0 / 120 + 7.0 / 4 * a2 / 5040)), c6 = all(cube * cube * (1.0 / 720));
    largest_square = all(fuses() && square < 1e100 ? a2 / square : -1);  // c⁶ is finite
  }
  MISTAKEBOUND_INLINE Mask knows(Four x) const { return x * x <= largest_square; }  // not NaN
  MISTAKEBOUND_INLINE Four exp(Four x) const {
    const Four square = x * x;
    const Four high = fused(square, fused(x, c6, c5), fused(x, c4, c3));
    return fused(x, fused(square, high, fused(x, c2, c1)), all(1));
  }
};

// ln x of a positive number; −∞ of 0. With f = m − 1 and s = f/(2 + f): ln m = f − s(f − 2(s²/3 + s⁴/5 + …)).
MISTAKEBOUND_INLINE Four ln(Four x) {
  const Mask zero = x == 0.0, tiny = x < 0x1p-1022;
  const Mask whole = bits(choose(tiny, x * 0x1p54, x));
  Mask exponent = (whole >> 52) - 1023 + (tiny & -54LL);
  Four m = number((whole & 0x000fffffffffffffLL) | 0x3ff0000000000000LL);
  const Mask big = m > 1.4142135623730951;
  m = choose(big, m * 0.5, m);
  exponent = exponent - big;  // a mask is −1
  const Four e = number(exponent + 0x4338000000000000LL) - rounder;
  const Four f = m - 1.0, s = f / (f + 2.0), z = s * s;
  Four sum = all(2.0 / 21);
  sum = sum * z + 2.0 / 19;
  sum = sum * z + 2.0 / 17;
  sum = sum * z + 2.0 / 15;
  sum = sum * z + 2.0 / 13;
  sum = sum * z + 2.0 / 11;
  sum = sum * z + 2.0 / 9;
  sum = sum * z + 2.0 / 7;
  sum = sum * z + 2.0 / 5;
  sum = sum * z + 2.0 / 3;
  const Four value = e * ln2_high - ((s * (f - sum * z) - e * ln2_low) - f);
  return choose(zero, all(-infinity), value);
}
// ln(1 + x), x ≥ −1: what rounding took from 1 + x is given back.
MISTAKEBOUND_INLINE Four ln1p(Four x) {
  const Four u = x + 1.0;
  const Mask zero = u == 0.0;
  const Four safe = choose(zero, all(1), u);
  return choose(zero, all(-infinity), ln(safe) + (x - (safe - 1.0)) / safe);
}

struct Whole {
  static constexpr bool whole = true;
};
struct Part {
  static constexpr bool whole = false;
};
// Fours of experts; the last may be in part.
template <class Do>
MISTAKEBOUND_INLINE void fours(std::size_t n, Do work) {
  std::size_t k = 0;
  for (; k + 4 <= n; k += 4) work(k, Whole{});
  if (k < n) work(k, Part{});
}
// Of a row that ends with its last expert: those beyond are `beyond`.
template <class Kind>
MISTAKEBOUND_INLINE Four from_row(const double* row, std::size_t k, std::size_t n, double beyond, Kind) {
  if constexpr (Kind::whole) return load(row + k);
  Numbers v{{beyond, beyond, beyond, beyond}};
  for (std::size_t j = 0; k + j < n; ++j) v.at[j] = row[k + j];
  return load(v.at);
}
// Those of four that are experts.
template <class Kind>
MISTAKEBOUND_INLINE Mask real(std::size_t k, std::size_t n, Kind) {
  if constexpr (Kind::whole) return ~Mask{};
  Numbers is{};
  for (std::size_t j = 0; k + j < n; ++j) is.at[j] = 1;
  return load(is.at) > 0.0;
}

}  // namespace mistakebound::experts::MISTAKEBOUND_LEVEL
