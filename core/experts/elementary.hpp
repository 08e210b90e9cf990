// e^x and ln x of vectors from basic operations, and the loop over groups of experts. Every SIMD level gives the same bits. Only
// an x86 processor without fused multiply-add uses another formula for small exponents.
#pragma once
#include "experts/lanes.hpp"

namespace mistakebound::experts::MISTAKEBOUND_LEVEL {

inline constexpr double infinity = __builtin_inf();

MISTAKEBOUND_INLINE double larger(double a, double b) { return a > b ? a : b; }
MISTAKEBOUND_INLINE double smaller(double a, double b) { return a < b ? a : b; }
MISTAKEBOUND_INLINE double top(Four v) {
  const Numbers<Four> n = numbers(v);
  return larger(larger(n.at[0], n.at[1]), larger(n.at[2], n.at[3]));
}
MISTAKEBOUND_INLINE double bottom(Four v) { return -top(-v); }

inline constexpr double rounder = 0x1.8p52;  // adding and subtracting it rounds to an integer
inline constexpr double log2_e = 1.4426950408889634, ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;

// e^x. It is 0 for x < −708, and e^709 for x > 709.
template <class V>
MISTAKEBOUND_INLINE V exp(V x) {
  const auto none = x < -708.0;
  x = least(x, all<V>(709));
  const V shifted = x * log2_e + rounder;
  const V whole = shifted - rounder;
  const V r = (x - whole * ln2_high) - whole * ln2_low;
  // The Taylor polynomial of degree 13, in pairs that the processor can compute at the same time.
  const V r2 = r * r, r4 = r2 * r2;
  const V low = (r * (1.0 / 6) + 0.5) + r2 * (r * (1.0 / 120) + 1.0 / 24);
  const V middle = (r * (1.0 / 5040) + 1.0 / 720) + r2 * (r * (1.0 / 362880) + 1.0 / 40320);
  const V high = (r * (1.0 / 39916800) + 1.0 / 3628800) + r2 * (r * (1.0 / 6227020800) + 1.0 / 479001600);
  const V sum = (r + r2 * ((low + r4 * middle) + (r4 * r4) * high)) + 1.0;
  // The last bits of `shifted` are the integer `whole`.
  const auto scale = (bits(shifted) + 1023) << 52;
  return where(~none, sum * number(scale));
}

// e^(cx) for |cx| ≤ a = 1/32: the Taylor polynomial of degree 7, whose last term is replaced by Chebyshev's approximation
// x⁷ ≈ (7/4)a²x⁵ − (7/8)a⁴x³ + (7/64)a⁶x with an error of a⁷/64. The coefficients include the powers of c.
template <class V>
struct Little {
  V c1, c2, c3, c4, c5, c6, largest;

  explicit Little(double c) {
    constexpr double a = 0x1p-5, a2 = a * a;
    const double square = c * c, cube = square * c;
    c1 = all<V>(c * (1 + 7.0 / 64 * (a2 * a2 * a2) / 5040)), c2 = all<V>(square * (1.0 / 2));
    c3 = all<V>(cube * (1.0 / 6 - 7.0 / 8 * (a2 * a2) / 5040)), c4 = all<V>(square * square * (1.0 / 24));
    c5 = all<V>(square * cube * (1.0 / 120 + 7.0 / 4 * a2 / 5040)), c6 = all<V>(cube * cube * (1.0 / 720));
    largest = all<V>(fuses() && square < 1e100 ? a / __builtin_fabs(c) : -1);  // c⁶ is finite
  }
  MISTAKEBOUND_INLINE auto knows(V x) const { return size(x) <= largest; }  // false for NaN
  // (e^(cx) − 1)/x by Horner's rule, which needs the fewest multiplications.
  MISTAKEBOUND_INLINE V slope(V x) const {
    return fused(x, fused(x, fused(x, fused(x, fused(x, c6, c5), c4), c3), c2), c1);
  }
};

// ln x for x > 0, and −∞ for 0. With f = m − 1 and s = f/(2 + f): ln m = f − s(f − 2(s²/3 + s⁴/5 + …)).
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
// ln(1 + x) for x ≥ −1. The last term corrects the rounding error of 1 + x.
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
// Call `work` for groups of experts, each as wide as the vector. The last group may be smaller.
template <class V>
MISTAKEBOUND_INLINE void groups(std::size_t n, auto work, std::size_t k = 0) {
  for (; k + lanes_of<V> <= n; k += lanes_of<V>) work(k, Whole{});
  if (k < n) work(k, Part{});
}
MISTAKEBOUND_INLINE void fours(std::size_t n, auto work) { groups<Four>(n, work); }
// Load a group of a row. Elements after its last expert are `beyond`.
template <class V = Four, class Kind>
MISTAKEBOUND_INLINE V from_row(const double* row, std::size_t k, std::size_t n, double beyond, Kind) {
  if constexpr (Kind::whole) return load<V>(row + k);
  return load_part(row + k, n - k, all<V>(beyond));
}
// A mask of the elements of a group that are experts.
template <class V = Four, class Kind>
MISTAKEBOUND_INLINE auto real(std::size_t k, std::size_t n, Kind) {
  if constexpr (Kind::whole) return ~decltype(V{} < V{}){};
  constexpr double lane[]{0, 1, 2, 3, 4, 5, 6, 7};
  return load<V>(lane) < static_cast<double>(n - k);
}

}  // namespace mistakebound::experts::MISTAKEBOUND_LEVEL
