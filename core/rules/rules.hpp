// One struct per rule. src/mistakebound/rules/*.py is the specification in Python.
//
//   id             name of the rule in Python and in model files
//   link(z)        weight of a feature, up to a positive factor that all features share
//   mass(w, z)     term of a feature in the total from which the normaliser is computed (only if `normalised`)
//   normaliser(t)  the number by which link(z)·x is divided, computed from the total mass t
//   rescale(top)   choose a new common factor that makes the largest weight 1; top is the largest z (or |z|)
//   must_update(score, y, mistaken)   whether a round causes an update; by default, if mistaken or within the update margin
//
// Such a rule keeps one float, z, and adds y·x to it. A rule with more floats declares
//
//   Slot                        its floats, the weight first, with their initial values
//   gather(slot, x, score, y)   term of a non-zero feature in a second sum over the example, if `step` needs one
//   step(score, y, gathered)    the numbers that `apply` needs, computed once a round
//   apply(slot, x, step)        update the floats of a non-zero
#pragma once
#include <algorithm>
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
  explicit Winnow(double parameter) : alpha(parameter) {}
  double alpha;
  double link(double z) const { return std::pow(alpha, z); }
};

struct Elimination {
  static constexpr std::string_view id = "elimination";
  static constexpr bool identity = false, normalised = false, binary = true, top_is_absolute = false;
  explicit Elimination(double /*parameter*/) {}
  double link(double z) const { return z < 0 ? 0.0 : 1.0; }
  static bool must_update(double, int y, bool mistaken) { return mistaken && y < 0; }  // a removed variable stays removed
};

// e^{eta z - shift}. At eta = infinity: 1 for the features with the largest z, which is `shift`, and 0 for the others.
struct NormalizedWinnow {
  static constexpr std::string_view id = "normalized-winnow";
  static constexpr bool identity = false, normalised = true, binary = false, top_is_absolute = false;
  explicit NormalizedWinnow(double parameter) : eta(parameter) {}
  double eta, shift = 0;
  double link(double z) const {
    if (std::isinf(eta)) return z < shift ? 0.0 : z == shift ? 1.0 : std::numeric_limits<double>::infinity();
    return std::exp(eta * z - shift);
  }
  double mass(double w, double) const { return w; }
  double normaliser(double total) const { return total; }
  void rescale(double top) { shift = std::isinf(eta) ? top : eta * top; }
};

// sinh x for x >= 0 from basic operations only, in the order of rules/hyperbolic.py: every machine gives the same bits, and
// SIMD code can do four at once. With x = k·ln 2 + r, e^x - 1 = 2^k·(e^r - 1) + (2^k - 1), and a polynomial in r
// approximates e^r - 1.
struct Sinh {
  static constexpr double log2_e = 1.4426950408889634, ln2_high = 0.6931471803691238, ln2_low = 1.9082149292705877e-10;
  static constexpr double largest = 700;  // sinh of a larger number is infinite here
  // Adding it to a number of moderate size rounds the number to an integer, which is then in the lowest bits of the sum.
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
  const double r2 = r * r, r4 = r2 * r2;  // pairs, and pairs of pairs, which the processor can compute at the same time
  const double low = (t[0] + t[1] * r) + (t[2] + t[3] * r) * r2, high = (t[4] + t[5] * r) + (t[6] + t[7] * r) * r2;
  const double q = ((low + high * r4) + t[8] * (r4 * r4)) * r;
  const double two_k = std::bit_cast<double>((std::bit_cast<std::uint64_t>(sum) << 52) + (std::uint64_t{1023} << 52));
  const double e = two_k * q + (two_k - 1.0);
  return 0.5 * (e + e / (e + 1.0));
}

// sinh(eta z)·e^{-shift}. The mass is cosh(eta z)·e^{-shift} = sqrt(e^{-2 shift} + w^2).
struct BalancedWinnow {
  static constexpr std::string_view id = "balanced-winnow";
  static constexpr bool identity = false, normalised = true, binary = false, top_is_absolute = true;
  explicit BalancedWinnow(double parameter) : eta(parameter) {}
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
    if (std::isinf(eta)) {  // a new largest |z| has infinite mass, which causes a rescale
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

// sign(z)·(|z|/scale)^{p-1}. The normalised link divides |z|^{p-1} by ||z||_p^{p-2}.
struct PNorm {
  static constexpr std::string_view id = "pnorm";
  static constexpr bool identity = false, normalised = true, binary = false, top_is_absolute = true;
  explicit PNorm(double parameter) : p(parameter) {}
  double p, scale = 1;
  double link(double z) const {
    const double w = std::pow(std::fabs(z) / scale, p - 1);
    return z < 0 ? -w : w;
  }
  double mass(double w, double z) const { return std::fabs(w) * (std::fabs(z) / scale); }
  double normaliser(double total) const { return std::pow(total, (p - 2) / p) / scale; }
  void rescale(double top) { scale = top > 0 ? top : 1; }
};

// AROW with a diagonal covariance: a weight and its variance sigma per feature. The limits keep variances above 0 and weights
// finite in float32.
struct Arow {
  static constexpr std::string_view id = "arow";
  static constexpr bool identity = true, normalised = false, binary = false, top_is_absolute = true;
  static constexpr double largest = 1e30, smallest = 1e-30;
  struct Slot {
    float w = 0, sigma = 1;
    float& sum() { return w; }
    float sum() const { return w; }
  };
  struct Step {
    double tau, confidence;
  };
  explicit Arow(double parameter) : r(parameter) {}
  double r;
  double link(double z) const { return z; }
  static bool must_update(double score, int y, bool) { return y * score < 1; }
  static double gather(const Slot& slot, double x, double, int) { return static_cast<double>(slot.sigma) * x * x; }
  Step step(double score, int y, double gathered) const { return {y * (1 - y * score) / (gathered + r), gathered}; }
  void apply(Slot& slot, double x, const Step& step) const {
    const double sigma = slot.sigma, rest = std::max(step.confidence - sigma * x * x, 0.0) + r;
    slot.w = static_cast<float>(std::clamp(static_cast<double>(slot.w) + step.tau * sigma * x, -largest, largest));
    slot.sigma = static_cast<float>(std::max(sigma * (rest / (step.confidence + r)), smallest));
  }
};

template <class... Rule>
struct RuleList {};
// All rules. An engine finds its rule in this list by id.
using Rules = RuleList<Perceptron, Winnow, NormalizedWinnow, BalancedWinnow, PNorm, Elimination, Arow>;

}  // namespace mistakebound
