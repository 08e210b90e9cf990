// AROW, the passive-aggressive rules and the averaged Perceptron. The specification is in the files of rules/ with these names.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "rules/stepping.hpp"

namespace mistakebound {

// A step of size tau along y·x, below a margin of 1.
struct MarginRule : SteppingRule {
  static constexpr bool keeps_examples = true;
  struct Step {
    int y;
    double loss, tau = 0, gathered = 0;
  };
  static bool must_update(double score, int y, bool) { return 1 - y * score > 0; }
  static Step step(double score, int y) { return {y, 1 - y * score}; }
};

// AROW with a diagonal covariance: a weight and its variance sigma per feature. The limits keep variances above 0 and weights
// finite in float32.
struct Arow : MarginRule {
  static constexpr std::string_view id = "arow";
  struct Slot {
    float w = 0, sigma = 1;
    float& sum() { return w; }
    float sum() const { return w; }
  };
  explicit Arow(double parameter) : r(parameter) {}
  double r;
  static double gather(const Slot& slot, double x, const Step&) { return static_cast<double>(slot.sigma) * x * x; }
  void complete(Step& step, double gathered) const {
    step.gathered = gathered;
    step.tau = step.y * step.loss / (gathered + r);
  }
  void apply(Slot& slot, double x, const Step& step) const {
    const double sigma = slot.sigma, rest = std::max(step.gathered - sigma * x * x, 0.0) + r;
    slot.w = limited(static_cast<double>(slot.w) + step.tau * sigma * x);
    slot.sigma = static_cast<float>(std::max(sigma * (rest / (step.gathered + r)), smallest));
  }
};

struct PassiveAggressive : MarginRule {
  explicit PassiveAggressive(double parameter) : c(parameter) {}
  double c;
  static double gather(const WeightOnly&, double x, const Step&) { return x * x; }
  static void apply(WeightOnly& slot, double x, const Step& step) {
    slot.w = limited(static_cast<double>(slot.w) + step.tau * x);
  }
};

struct PassiveAggressiveI : PassiveAggressive {
  static constexpr std::string_view id = "passive-aggressive-i";
  using PassiveAggressive::PassiveAggressive;
  void complete(Step& step, double square) const {
    step.tau = step.y * (square > 0 ? std::min(c, step.loss / square) : c);
  }
};

struct PassiveAggressiveII : PassiveAggressive {
  static constexpr std::string_view id = "passive-aggressive-ii";
  using PassiveAggressive::PassiveAggressive;
  void complete(Step& step, double square) const { step.tau = step.y * (step.loss / (square + 0.5 / c)); }
};

// The mean of a Perceptron's w at the start and after each round is w - a/c.
struct AveragedPerceptron : SteppingRule {
  static constexpr std::string_view id = "averaged-perceptron";
  struct Slot {
    float w = 0, a = 0;
    float& sum() { return w; }
    float sum() const { return w; }
  };
  struct Step {
    int y;
  };
  explicit AveragedPerceptron(double /*parameter*/) {}
  std::array<double, 1> scalars{1};  // c: the number of rounds, plus 1
  void set_scalars(const double* values) { scalars = {values[0]}; }
  void count(int, double) { scalars[0] += 1; }

  double weight(const Slot& slot) const { return static_cast<double>(slot.w) - static_cast<double>(slot.a) / scalars[0]; }
  static double term(double w, double x) { return w * x; }
  static double score(double sum, double, std::size_t) { return sum; }

  static Step step(double, int y) { return {y}; }
  static double gather(const Slot& slot, double x, const Step&) { return static_cast<double>(slot.w) * x; }
  static bool decides(double gathered, int y) { return (gathered >= 0) != (y == 1); }
  void apply(Slot& slot, double x, const Step& step) const {
    const double by = step.y * x;
    slot.w = static_cast<float>(static_cast<double>(slot.w) + by);
    slot.a = limited(static_cast<double>(slot.a) + scalars[0] * by, largest_sum);
  }
};

}  // namespace mistakebound
