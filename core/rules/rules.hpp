// One struct per rule. src/mistakebound/rules/*.py is the specification in Python.
//
//   id             name of the rule in Python and in model files
//   link(z)        weight of a feature, up to a positive factor that all features share
//   mass(w, z)     term of a feature in the total from which the normaliser is computed (only if `normalised`)
//   normaliser(t)  the number by which link(z)·x is divided, computed from the total mass t
//   rescale(top)   choose a new common factor that makes the largest weight 1; top is the largest z (or |z|)
//   must_update(score, y, mistaken)   whether a round causes an update; by default, if mistaken or within the update margin
//   log_odds       whether a score is the log odds of the positive label
//   keeps_examples whether the record keeps the examples of mistakes and updates
//
// Such a rule keeps one float, z, and adds y·x to it. Other rules compute a step: see stepping.hpp.
#pragma once
#include <cmath>
#include <limits>
#include <string_view>

#include "rules/elementary.hpp"
#include "rules/gradient_rules.hpp"
#include "rules/label_counts.hpp"
#include "rules/margin_rules.hpp"

namespace mistakebound {

struct Perceptron {
  static constexpr std::string_view id = "perceptron";
  static constexpr bool identity = true, normalised = false, binary = false, top_is_absolute = true;
  static constexpr bool log_odds = false, keeps_examples = true;
  explicit Perceptron(double /*parameter*/) {}
  double link(double z) const { return z; }
};

struct Winnow {
  static constexpr std::string_view id = "winnow";
  static constexpr bool identity = false, normalised = false, binary = true, top_is_absolute = false;
  static constexpr bool log_odds = false, keeps_examples = true;
  explicit Winnow(double parameter) : alpha(parameter) {}
  double alpha;
  double link(double z) const { return std::pow(alpha, z); }
};

struct Elimination {
  static constexpr std::string_view id = "elimination";
  static constexpr bool identity = false, normalised = false, binary = true, top_is_absolute = false;
  static constexpr bool log_odds = false, keeps_examples = true;
  explicit Elimination(double /*parameter*/) {}
  double link(double z) const { return z < 0 ? 0.0 : 1.0; }
  static bool must_update(double, int y, bool mistaken) { return mistaken && y < 0; }  // a removed variable stays removed
};

// e^{eta z - shift}. At eta = infinity: 1 for the features with the largest z, which is `shift`, and 0 for the others.
struct NormalizedWinnow {
  static constexpr std::string_view id = "normalized-winnow";
  static constexpr bool identity = false, normalised = true, binary = false, top_is_absolute = false;
  static constexpr bool log_odds = false, keeps_examples = true;
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

// sinh(eta z)·e^{-shift}. The mass is cosh(eta z)·e^{-shift} = sqrt(e^{-2 shift} + w^2).
struct BalancedWinnow {
  static constexpr std::string_view id = "balanced-winnow";
  static constexpr bool identity = false, normalised = true, binary = false, top_is_absolute = true;
  static constexpr bool log_odds = false, keeps_examples = true;
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
  static constexpr bool log_odds = false, keeps_examples = true;
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

template <class... Rule>
struct RuleList {};
// All rules. An engine finds its rule in this list by id.
using Rules =
    RuleList<Perceptron, Winnow, NormalizedWinnow, BalancedWinnow, PNorm, Elimination, Arow, PassiveAggressiveI,
             PassiveAggressiveII, AveragedPerceptron, CoinBetting, ImplicitLogistic, AdaGradLogistic, AdaGradHinge, FtrlProximal,
             LogisticSgd, ExponentiatedGradient, NaiveBayes, DecisionList>;

}  // namespace mistakebound
