// A struct per rule: the twin of src/mistakebound/rules/*.py, which is the specification.
//
//   id             the name by which Python and model files know it
//   link(z)        weight of a feature, up to a positive factor common to all
//   mass(w, z)     its share of the normaliser (only where `normalised`)
//   normaliser(t)  what link(z)·x is divided by, from the total mass t
//   rescale(top)   choose the common factor anew, so that the largest weight is 1; top = largest z (or |z|)
//   moves(y, mistaken)   whether a round is learned; without it, a mistaken one and one inside the update margin are
#pragma once
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace mistakebound {

struct Perceptron {
  static constexpr std::string_view id = "perceptron";
  static constexpr bool identity = true, normalised = false, binary = false, top_is_absolute = true;
  explicit Perceptron(double /*parameter*/) {}
  double link(double z) const { return z; }
};

struct Winnow {
  static constexpr std::string_view id = "winnow";
  static constexpr bool identity = false, normalised = false, binary = true, top_is_absolute = false;
  explicit Winnow(double its_alpha) : alpha(its_alpha) {}
  double alpha;
  double link(double z) const { return std::pow(alpha, z); }
};

struct Elimination {
  static constexpr std::string_view id = "elimination";
  static constexpr bool identity = false, normalised = false, binary = true, top_is_absolute = false;
  explicit Elimination(double /*parameter*/) {}
  double link(double z) const { return z < 0 ? 0.0 : 1.0; }
  static bool moves(int y, bool mistaken) { return mistaken && y < 0; }  // no variable ever comes back
};

// e^{eta z - shift}; at eta = infinity its limit, uniform over the leaders: shift is then the largest z.
struct NormalizedWinnow {
  static constexpr std::string_view id = "normalized-winnow";
  static constexpr bool identity = false, normalised = true, binary = false, top_is_absolute = false;
  explicit NormalizedWinnow(double its_eta) : eta(its_eta) {}
  double eta, shift = 0;
  double link(double z) const {
    if (std::isinf(eta)) return z < shift ? 0.0 : z == shift ? 1.0 : std::numeric_limits<double>::infinity();
    return std::exp(eta * z - shift);
  }
  double mass(double w, double) const { return w; }
  double normaliser(double total) const { return total; }
  void rescale(double top) { shift = std::isinf(eta) ? top : eta * top; }
};

// sinh x for x >= 0, by basic operations alone, in the order of rules/hyperbolic.py: any machine gives the same bits, and
// four can be done at once. With x = k·ln 2 + r, e^x - 1 = 2^k·(e^r - 1) + (2^k - 1), and e^r - 1 is a polynomial in r.
struct Sinh {
  static constexpr double log2_e = 1.4426950408889634, ln2_high = 0.6931471803691238, ln2_low = 1.9082149292705877e-10;
  static constexpr double largest = 700;  // beyond it, infinite
  // Adding it to a number of moderate size rounds that to a whole one, which then stands in the lowest bits of the sum.
  static constexpr double rounder = 6755399441055744.0;  // 1.5·2^52
  static constexpr std::size_t count = 9;
  static constexpr double terms[count] = {1.0,       1.0 / 2,    1.0 / 6,     1.0 / 24,    1.0 / 120,
                                          1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880};
};
inline double sinh_of(double x) {
  if (!(x <= Sinh::largest)) return std::numeric_limits<double>::infinity();
  const double sum = x * Sinh::log2_e + Sinh::rounder, k = sum - Sinh::rounder;
  const double r = (x - k * Sinh::ln2_high) - k * Sinh::ln2_low;
  const auto& t = Sinh::terms;
  const double r2 = r * r, r4 = r2 * r2;  // in pairs, and pairs of pairs: so many can be done at the same time
  const double low = (t[0] + t[1] * r) + (t[2] + t[3] * r) * r2, high = (t[4] + t[5] * r) + (t[6] + t[7] * r) * r2;
  const double q = ((low + high * r4) + t[8] * (r4 * r4)) * r;
  const double two_k = std::bit_cast<double>((std::bit_cast<std::uint64_t>(sum) << 52) + (std::uint64_t{1023} << 52));
  const double e = two_k * q + (two_k - 1.0);
  return 0.5 * (e + e / (e + 1.0));
}

// sinh(eta z)·e^{-shift}; its mass is cosh(eta z)·e^{-shift} = sqrt(e^{-2 shift} + w^2).
struct BalancedWinnow {
  static constexpr std::string_view id = "balanced-winnow";
  static constexpr bool identity = false, normalised = true, binary = false, top_is_absolute = true;
  explicit BalancedWinnow(double its_eta) : eta(its_eta) {}
  double eta, shift = 0, floor = 1;  // floor = e^{-shift}: the mass of a feature at z = 0
  double link(double z) const {
    const double size = std::fabs(z);
    double w;
    if (std::isinf(eta)) {
      w = z == 0 || size < shift ? 0.0 : size == shift ? 1.0 : std::numeric_limits<double>::infinity();
    } else if (eta * size <= Sinh::largest && shift <= Sinh::largest) {
      w = sinh_of(eta * size) * floor;
    } else {
      w = (std::exp(eta * size - shift) - std::exp(-eta * size - shift)) / 2;
    }
    return z < 0 ? -w : w;
  }
  double mass(double w, double z) const {
    if (std::isinf(eta)) {  // beyond the leaders: infinite, which asks for a rescale
      const double size = std::fabs(z);
      return size < shift ? 0.0 : size == shift ? 1.0 : std::numeric_limits<double>::infinity();
    }
    return std::sqrt(floor * floor + w * w);
  }
  double normaliser(double total) const { return total; }
  void rescale(double top) {
    shift = std::isinf(eta) ? top : eta * top;
    floor = std::exp(-shift);
  }
};

// sign(z)·(|z|/scale)^{p-1}; the normalised link divides |z|^{p-1} by ||z||_p^{p-2}.
struct PNorm {
  static constexpr std::string_view id = "pnorm";
  static constexpr bool identity = false, normalised = true, binary = false, top_is_absolute = true;
  explicit PNorm(double its_p) : p(its_p) {}
  double p, scale = 1;
  double link(double z) const {
    const double w = std::pow(std::fabs(z) / scale, p - 1);
    return z < 0 ? -w : w;
  }
  double mass(double w, double z) const { return std::fabs(w) * (std::fabs(z) / scale); }
  double normaliser(double total) const { return std::pow(total, (p - 2) / p) / scale; }
  void rescale(double top) { scale = top > 0 ? top : 1; }
};

template <class... Rule>
struct RuleList {};
// Every rule, once: engines are made from this list by a rule's id.
using Rules = RuleList<Perceptron, Winnow, NormalizedWinnow, BalancedWinnow, PNorm, Elimination>;

}  // namespace mistakebound
