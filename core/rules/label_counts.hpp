// Rules that count how often each feature occurred with each label. The specification is in rules/label_counts.py.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "rules/elementary.hpp"
#include "rules/stepping.hpp"

namespace mistakebound {

// The weight of a feature is r = ln((c+ + share)/(c- + 1 - share)) - prior, where c+ and c- are the sums of the weights of the rounds
// with this feature and each label, and share and prior are those of the positive label.
struct LabelCountRule : SteppingRule {
  static constexpr bool log_odds = true;
  static constexpr double largest_count = 1 << 24;  // float32 cannot add 1 to it
  struct Slot {
    float positives = 0, negatives = 0;
    float& sum() { return positives; }
    float sum() const { return positives; }
  };
  struct Step {
    int y;
    double weight = 1;
  };
  explicit LabelCountRule(double /*parameter*/) {}
  std::array<double, 2> scalars{1, 1};  // weights of the rounds with each label, plus 1
  double share = 0.5, prior = 0;
  void set_scalars(const double* values) {
    scalars = {values[0], values[1]};
    share = scalars[0] / (scalars[0] + scalars[1]);
    prior = ln_of(scalars[0] / scalars[1]);
  }
  void count(int y, double weight) {
    scalars[y > 0 ? 0 : 1] += weight;
    set_scalars(scalars.data());
  }

  double weight(const Slot& slot) const {
    const double positives = slot.positives, negatives = slot.negatives;
    if (positives + negatives == 0) return 0;
    return ln_of((positives + share) / (negatives + (1.0 - share))) - prior;
  }

  static Step step(double, int y) { return {y}; }
  static void weigh(Step& step, double weight) { step.weight = weight; }
  static void apply(Slot& slot, double, const Step& step) {
    double positives = slot.positives, negatives = slot.negatives;
    (step.y > 0 ? positives : negatives) += step.weight;
    while (std::max(positives, negatives) >= largest_count - 0.5) positives *= 0.5, negatives *= 0.5;  // before it is rounded up
    slot.positives = static_cast<float>(positives), slot.negatives = static_cast<float>(negatives);
  }
};

struct NaiveBayes : LabelCountRule {
  static constexpr std::string_view id = "naive-bayes";
  static constexpr double long_row = 24;
  using LabelCountRule::LabelCountRule;
  static double term(double r, double x) { return std::fabs(x) * r; }
  double score(double sum, double, std::size_t features) const {
    return prior + sum / std::max(1.0, static_cast<double>(features) / long_row);
  }
};

struct DecisionList : LabelCountRule {
  static constexpr std::string_view id = "decision-list";
  using LabelCountRule::LabelCountRule;
  static double second_term(double r) { return (r * r) * (r * r); }
  static double term(double r, double) { return second_term(r) * r; }
  double score(double sum, double fourths, std::size_t) const { return prior + (fourths > 0 ? sum / fourths : 0.0); }
};

}  // namespace mistakebound
