// What the rules that compute a step have in common. Such a rule need not keep z, and its update is not y·x. It has
//
//   Slot                     its floats, the weight first, with their initial values; a rule that keeps only z has none
//   step(score, y)           the numbers that an update needs, computed once a round
//   gather(slot, x, step)    term of a non-zero feature in a second sum over the example, if the step needs one
//   complete(step, sum)      the step, completed with this sum
//   apply(slot, x, step)     update the floats of a non-zero
//   weigh(step, weight)      multiply the step by the weight of the row, if the rule takes weights
//
// A rule with scalars computes its weights at each prediction. It has no weight in its Slot, but
//
//   scalars                  their values, and set_scalars(values)
//   count(y, weight)         change the scalars after a round
//   weight(slot)             the weight of a feature
//   term(w, x)               term of a feature in the score; second_term(w) in a second sum, if the score needs one
//   score(sum, second, m)    the score, from these sums and the number of features
//   decides(sum, y)          whether a round causes an update, if the sum of `gather` decides it
#pragma once
#include <algorithm>
#include <cmath>

#include "rules/slot.hpp"

namespace mistakebound {

struct SteppingRule {
  static constexpr bool identity = true, normalised = false, binary = false, top_is_absolute = true;
  static constexpr bool log_odds = false, keeps_examples = false;
  static constexpr double largest = 1e30, smallest = 1e-30;  // limits of weights, and of numbers that must stay positive
  static constexpr double largest_sum = 1e37;                // limit of other sums: float32 ends at 3.4e38

  double link(double z) const { return z; }
  static bool must_update(double, int, bool) { return true; }
  static float limited(double number, double most = largest) { return static_cast<float>(std::clamp(number, -most, most)); }
  static float at_most(double sum) { return static_cast<float>(std::min(sum, largest_sum)); }
};

}  // namespace mistakebound
