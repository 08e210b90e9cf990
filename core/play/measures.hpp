// How good the probabilities of a learner were: log loss, Brier score, and the number of rounds in each bin of probabilities, by
// label. The area under the ROC curve, calibration and the confusion at any threshold follow from these numbers.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rules/elementary.hpp"

namespace mistakebound {

class Measures {
 public:
  // Bins have a width of 0.001; below 0.001 and from 0.999 on, a width of 1/8 of the logit (src/mistakebound/play/measures.py has
  // the edges).
  static constexpr std::size_t tail = 112, bins = 2 * tail + 998;

  static constexpr double least = 1e-20;  // of a probability in a logarithm

  bool on = true;  // whether rounds are measured
  std::int64_t rounds = 0;
  double brier = 0;                                 // Σ(p − y)²
  std::vector<std::int64_t> positives, negatives;   // of each bin, by label; empty before the first round

  // The log loss is `loss` − ln `product`, where `product` multiplies the probabilities since `loss` last changed.
  double loss = 0, product = 1;
  double log_loss() const { return loss - (product < 1 ? ln_of(product) : 0.0); }

  // Reserve memory, so that `add` cannot fail.
  void make_room() {
    if (!positives.empty()) return;
    negatives.resize(bins);
    positives.resize(bins);
  }
  // The probability p of the positive label and 1 − p, each with all its digits, and the logit of p.
  void add(double p, double against, double logit, bool truth) {
    if (!on) return;
    rounds += 1;
    const double error = truth ? against : p;
    brier += error * error;
    product *= truth ? p : against;  // one logarithm of a product instead of many
    if (product < 1e-200) loss -= ln_of(product), product = 1;
    (truth ? positives : negatives)[bin_of(p, logit)] += 1;
  }
  void add(double logit, bool truth) { add(sigmoid(logit), sigmoid(-logit), logit, truth); }
  // The probability of a prediction that may be 0 or 1, and whether the prediction was right.
  void add_confidence(double p, bool right) {
    const double for_it = std::max(p, least), against = std::max(1 - p, least);
    add(for_it, against, ln_of(for_it) - ln_of(against), right);
  }
  // These measures are of two classes: count the class that is more likely as the prediction, and the bins by whether it was right.
  void turn_into_confidences() {
    for (std::size_t low = 0; low < positives.size() / 2; ++low) {
      const std::size_t high = bins - 1 - low;
      positives[high] += negatives[low], negatives[high] += positives[low];
      positives[low] = negatives[low] = 0;
    }
  }

  static std::size_t bin_of(double p, double logit) {
    constexpr double edge = 6.906754778648554;  // the logit of 0.999
    // How far into a tail, as a number that is in range for every logit, also infinity and NaN.
    const auto into = [](double beyond) { return static_cast<std::size_t>(beyond > 0 ? std::min(beyond * 8, tail - 1.0) : 0.0); };
    if (p >= .999) return tail + 998 + into(logit - edge);
    if (p >= .001) return tail - 1 + static_cast<std::size_t>(p * 1000);
    return tail - 1 - into(-edge - logit);  // also if p is NaN
  }
};

}  // namespace mistakebound
