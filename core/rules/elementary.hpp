// e^x, ln x, sinh x and the logistic function from basic operations only: every machine gives the same bits. rules/logistic.py
// and rules/hyperbolic.py do the same operations in the same order.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace mistakebound {

// ln 2 in two parts. k·ln2_high is exact for every k that occurs.
inline constexpr double log2_e = 1.4426950408889634, ln2_high = 0.6931471803691238, ln2_low = 1.9082149292705877e-10;
// Adding it to a number of moderate size rounds the number to an integer, which is then in the lowest bits of the sum.
inline constexpr double rounder = 6755399441055744.0;  // 1.5·2^52

// x = k·ln 2 + r, and 2^k.
struct Reduced {
  double r, two_k;
  explicit Reduced(double x) {
    const double sum = x * log2_e + rounder, k = sum - rounder;
    r = (x - k * ln2_high) - k * ln2_low;
    two_k = std::bit_cast<double>((std::bit_cast<std::uint64_t>(sum) << 52) + (std::uint64_t{1023} << 52));
  }
};

// sinh x for x >= 0: e^x - 1 = 2^k·(e^r - 1) + (2^k - 1), and a polynomial in r approximates e^r - 1. SIMD code can do four at
// once.
struct Sinh {
  static constexpr double largest = 700;  // sinh of a larger number is infinite here
  static constexpr std::size_t count = 9;
  static constexpr double terms[count] = {1.0,       1.0 / 2,    1.0 / 6,     1.0 / 24,    1.0 / 120,
                                          1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880};
};
inline double sinh_of(double x) {
  if (!(x <= Sinh::largest)) return std::numeric_limits<double>::infinity();
  const auto [r, two_k] = Reduced(x);
  const auto& t = Sinh::terms;
  const double r2 = r * r, r4 = r2 * r2;  // pairs, and pairs of pairs, which the processor can compute at the same time
  const double low = (t[0] + t[1] * r) + (t[2] + t[3] * r) * r2, high = (t[4] + t[5] * r) + (t[6] + t[7] * r) * r2;
  const double q = ((low + high * r4) + t[8] * (r4 * r4)) * r;
  const double e = two_k * q + (two_k - 1.0);
  return 0.5 * (e + e / (e + 1.0));
}

// e^x for |x| <= 700.
inline double exp_of(double x) {
  const auto [r, two_k] = Reduced(x);
  const double r2 = r * r, r4 = r2 * r2;
  const double low = (r * (1.0 / 6) + 0.5) + r2 * (r * (1.0 / 120) + 1.0 / 24);
  const double middle = (r * (1.0 / 5040) + 1.0 / 720) + r2 * (r * (1.0 / 362880) + 1.0 / 40320);
  const double high = (r * (1.0 / 39916800) + 1.0 / 3628800) + r2 * (r * (1.0 / 6227020800) + 1.0 / 479001600);
  return ((r + r2 * ((low + r4 * middle) + (r4 * r4) * high)) + 1.0) * two_k;
}

// ln x for a normal x > 0. With x = 2^e·m, f = m − 1 and s = f/(2 + f): ln m = f − s(f − 2(s²/3 + s⁴/5 + …)).
inline double ln_of(double x) {
  const auto whole = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<std::int64_t>(whole >> 52) - 1023;
  double m = std::bit_cast<double>((whole & 0x000fffffffffffff) | 0x3ff0000000000000);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const auto e = static_cast<double>(exponent);
  const double f = m - 1.0, s = f / (f + 2.0), z = s * s;
  double sum = 2.0 / 21;
  for (int k = 19; k > 1; k -= 2) sum = sum * z + 2.0 / k;
  return e * ln2_high - ((s * (f - sum * z) - e * ln2_low) - f);
}

// The logistic function. Scores beyond ±50 count as ±50.
inline double sigmoid(double z) { return 1.0 / (1.0 + exp_of(-std::clamp(z, -50.0, 50.0))); }

}  // namespace mistakebound
