// Vectors of float64 for the panel: those of the experts, with the logistic function.
#pragma once
#include "experts/elementary.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

using experts::MISTAKEBOUND_LEVEL::all, experts::MISTAKEBOUND_LEVEL::bits, experts::MISTAKEBOUND_LEVEL::choose,
    experts::MISTAKEBOUND_LEVEL::exp, experts::MISTAKEBOUND_LEVEL::first_of, experts::MISTAKEBOUND_LEVEL::Four,
    experts::MISTAKEBOUND_LEVEL::four, experts::MISTAKEBOUND_LEVEL::fused, experts::MISTAKEBOUND_LEVEL::infinity,
    experts::MISTAKEBOUND_LEVEL::larger, experts::MISTAKEBOUND_LEVEL::least, experts::MISTAKEBOUND_LEVEL::ln,
    experts::MISTAKEBOUND_LEVEL::load, experts::MISTAKEBOUND_LEVEL::Mask, experts::MISTAKEBOUND_LEVEL::most,
    experts::MISTAKEBOUND_LEVEL::number, experts::MISTAKEBOUND_LEVEL::Numbers, experts::MISTAKEBOUND_LEVEL::numbers,
    experts::MISTAKEBOUND_LEVEL::smaller, experts::MISTAKEBOUND_LEVEL::store, experts::MISTAKEBOUND_LEVEL::sum,
    experts::MISTAKEBOUND_LEVEL::where;

inline constexpr double largest_exponent = 50;

// e^x for |x| ≤ 700, with a relative error of 1e-11: the Taylor polynomial of degree 9.
template <class V>
MISTAKEBOUND_INLINE V quick_exp(V x) {
  using namespace experts::MISTAKEBOUND_LEVEL;
  const V shifted = fused(x, all<V>(log2_e), all<V>(rounder)), whole = shifted - rounder;
  const V r = fused(whole, all<V>(-ln2_low), fused(whole, all<V>(-ln2_high), x)), r2 = r * r, r4 = r2 * r2;
  const V low = fused(fused(r, all<V>(1.0 / 6), all<V>(.5)), r2, r + 1.0);
  const V middle = fused(fused(r, all<V>(1.0 / 5040), all<V>(1.0 / 720)), r2, fused(r, all<V>(1.0 / 120), all<V>(1.0 / 24)));
  const V high = fused(r, all<V>(1.0 / 362880), all<V>(1.0 / 40320));
  return fused(r4, fused(r4, high, middle), low) * number((bits(shifted) + 1023) << 52);
}
// ln x of a positive normal number, with an error of 1e-11. With x = 2^e·m, m from √½ to √2, and s = (m − 1)/(m + 1):
// ln m = 2(s + s³/3 + s⁵/5 + …).
MISTAKEBOUND_INLINE Four quick_ln(Four x) {
  using namespace experts::MISTAKEBOUND_LEVEL;
  // A bias of 1024 keeps the shifted exponent positive, because AVX2 has no arithmetic shift.
  constexpr std::int64_t bias = std::int64_t{1024} << 52, root_of_half = 0x3fe6a09e667f3bcd;
  const Mask whole = bits(x) - root_of_half + bias;
  const Four m = number(bits(x) - ((whole & ~((std::int64_t{1} << 52) - 1)) - bias));
  const Four e = number((whole >> 52) + 0x4330000000000000) - (0x1p52 + 1024);
  const Four s = (m - 1.0) / (m + 1.0), z = s * s;
  const Four low = fused(z, all(2.0 / 5), all(2.0 / 3)), middle = fused(z, all(2.0 / 9), all(2.0 / 7));
  const Four high = fused(z, all(2.0 / 13), all(2.0 / 11)), z2 = z * z;
  const Four sum = fused(z2, fused(z2, high, middle), low);
  return fused(e, all(ln2_high), fused(e, all(ln2_low), fused(s * z, sum, s + s)));
}
// e^−z, with |z| at most 50.
template <class V>
MISTAKEBOUND_INLINE V exp_minus(V z) {
  return quick_exp(-most(least(z, all<V>(largest_exponent)), all<V>(-largest_exponent)));
}
template <class V>
MISTAKEBOUND_INLINE V sigmoid(V z) {
  return 1.0 / (1.0 + exp_minus(z));
}
MISTAKEBOUND_INLINE double sigmoid(double z) { return first_of(sigmoid(all<Four>(z))); }
// ln(a/b)
MISTAKEBOUND_INLINE double ln_ratio(double a, double b) { return first_of(quick_ln(all<Four>(a / b))); }

MISTAKEBOUND_INLINE double clip(double z, double limit) { return smaller(larger(z, -limit), limit); }

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
