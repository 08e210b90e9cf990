// The probability of a label that was never seen: a Bayes mixture of 1/(t + 1) and (n₁ + ½)/(t + 1), where n₁ labels were seen
// once.
#pragma once
#include <cmath>

#include "panel/classes/state.hpp"
#include "panel/doubles.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

struct NewLabel {
  double rounds = 0, once = 0;
  double log_weight[2] = {};

  double chance() const {
    if (rounds == 0) return 1;
    const double top = larger(log_weight[0], log_weight[1]);
    const double first = weight(log_weight[0] - top), second = weight(log_weight[1] - top);
    return (first * rare() + second * by_singles()) / (first + second);
  }
  // `seen_before`: rows with the label before this one.
  void learn(bool is_new, double seen_before) {
    if (rounds > 0) {
      log_weight[0] += log_of(is_new ? rare() : 1 - rare());
      log_weight[1] += log_of(is_new ? by_singles() : 1 - by_singles());
    }
    if (is_new || seen_before == 0)  // one of the two labels of a panel of two classes may not have occurred
      once += 1;
    else if (seen_before == 1)
      once -= 1;
    rounds += 1;
  }
  template <class Visit>
  void each_number(Visit visit) {
    for (double* number : {&rounds, &once, &log_weight[0], &log_weight[1]}) visit(*number);
  }
  bool valid() const { return is_count(rounds) && is_count(once) && once <= rounds; }

 private:
  double rare() const { return 1 / (rounds + 1); }
  double by_singles() const { return smaller((once + .5) / (rounds + 1), 1 - .5 / (rounds + 1)); }
  static double weight(double log_of_weight) { return first_of(exp(all(log_of_weight))); }
  static double log_of(double p) { return first_of(quick_ln(all(p))); }
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
