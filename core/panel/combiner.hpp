// From the scores of the members to a probability and a prediction: three mixers of logits, a Bayes mixture over mixers and
// members, and a guarded Weighted Majority over the same nineteen. Twin of src/mistakebound/aggregation.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "experts/elementary.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

using experts::MISTAKEBOUND_LEVEL::all, experts::MISTAKEBOUND_LEVEL::exp, experts::MISTAKEBOUND_LEVEL::Four,
    experts::MISTAKEBOUND_LEVEL::infinity,    experts::MISTAKEBOUND_LEVEL::larger, experts::MISTAKEBOUND_LEVEL::least, experts::MISTAKEBOUND_LEVEL::ln,
    experts::MISTAKEBOUND_LEVEL::load, experts::MISTAKEBOUND_LEVEL::most, experts::MISTAKEBOUND_LEVEL::Numbers,
    experts::MISTAKEBOUND_LEVEL::numbers, experts::MISTAKEBOUND_LEVEL::smaller, experts::MISTAKEBOUND_LEVEL::store,
    experts::MISTAKEBOUND_LEVEL::sum;

inline constexpr double first_weights[members] = {.15, .15, .08, .15, .08, .15, .02, .02, .02, .02, .02, .30, .15, .10, .05, .02};
inline constexpr double fast_variances[members] = {.06,  .06,  .06,  .06,  .06, .06, .015, .015,
                                                   .015, .015, .015, .18, .18, .18, .18,  .015};
inline constexpr double slow_variances[members] = {.018,  .018,  .018,  .018, .018, .018, .0045, .0045,
                                                   .0045, .0045, .0045, .18,  .18,  .18,  .18,   .0045};
inline constexpr double largest_logit = 8, largest_mix = 20, largest_exponent = 50, margin_to_logit = 4;

template <class V>
MISTAKEBOUND_INLINE V sigmoid(V z) {
  return 1.0 / (1.0 + exp(-most(least(z, all<V>(largest_exponent)), all<V>(-largest_exponent))));
}
MISTAKEBOUND_INLINE double sigmoid(double z) { return numbers(sigmoid(all<Four>(z))).at[0]; }

MISTAKEBOUND_INLINE double clip(double z, double limit) { return smaller(larger(z, -limit), limit); }
MISTAKEBOUND_INLINE double product(const double* a, const double* b) {
  const auto part = [&](std::size_t k) __attribute__((always_inline)) { return load(a + k) * load(b + k); };
  return sum((part(0) + part(4)) + (part(8) + part(12)));
}

// Logistic regression over the members' logits by an online Newton step whose covariance drifts (Kalman).
struct NewtonMixer {
  alignas(32) double weights[members], covariance[members][members], first[members];

  explicit NewtonMixer(const double* variances) {
    for (std::size_t i = 0; i < members; ++i) {
      weights[i] = first_weights[i];
      for (double& cell : covariance[i]) cell = 0;
      first[i] = covariance[i][i] = variances[i];
    }
  }
  MISTAKEBOUND_INLINE double mix(const double* logits) const { return clip(product(weights, logits), largest_mix); }

  void learn(const double* logits, double y, double p) {
    constexpr double least_curvature = .01, drift = 6e-6;
    Four g[4] = {all(0), all(0), all(0), all(0)};
#pragma GCC unroll 4
    for (std::size_t i = 0; i < members; ++i) {
      const Four a = all(logits[i]);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < 4; ++k) g[k] += load(covariance[i] + 4 * k) * a;
    }
    alignas(32) double direction[members];
    for (std::size_t k = 0; k < 4; ++k) store(direction + 4 * k, g[k]);
    const double curvature = larger(p * (1 - p), least_curvature);
    const double shrink = 1 / (1 + curvature * product(direction, logits));
    const Four step = all((y - p) * shrink);
    for (std::size_t k = 0; k < 4; ++k) store(weights + 4 * k, load(weights + 4 * k) + step * g[k]);
    const double loss = curvature * shrink;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < members; ++i) {
      const Four by = all(loss * direction[i]);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < 4; ++k) {
        double* const row = covariance[i] + 4 * k;
        store(row, load(row) - by * g[k]);
      }
      covariance[i][i] += covariance[i][i] < first[i] ? drift : 0.0;
    }
  }
};

class Combiner {
 public:
  Combiner() : fast_(fast_variances), slow_(slow_variances) {
    for (std::size_t i = 0; i < members; ++i) gradient_[i] = first_weights[i];
    for (std::size_t i = 0; i < advisers; ++i) share_[i] = i < 2 ? .47 : i == 2 ? .05 : .01 / members;
    share_[advisers] = 0;
  }

  // Predict from the members' scores, and keep what `learn` needs.
  Verdict predict(const double* scores) {
    for (std::size_t i = 0; i < members; ++i)
      logit_[i] = clip(scores[i] * (i == arow || i == hinge ? margin_to_logit : 1.0), largest_logit);
    advice_[0] = fast_.mix(logit_);
    advice_[1] = slow_.mix(logit_);
    advice_[2] = clip(product(gradient_, logit_), largest_mix);
    for (std::size_t i = 0; i < members; ++i) advice_[mixers + i] = logit_[i];
    advice_[advisers] = 0;
    Four mixed = all(0), total = all(0);
    for (std::size_t i = 0; i <= advisers; i += 4) {
      const Four p = sigmoid(load(advice_ + i)), share = load(share_ + i);
      store(chance_ + i, p);
      mixed += share * p;
      total += share;
    }
    constexpr double least = 1e-9;
    mixture_ = clip(sum(mixed) / sum(total) - .5, .5 - least) + .5;
    const Four both = ln(load(Numbers<Four>{{mixture_, 1 - mixture_, 1, 1}}.at));
    double logit = numbers(both).at[0] - numbers(both).at[1];
    if (std::fabs(logit) < least) logit = 0;
    const bool advised = logit >= 0;
    const bool positive = guarded(advised);
    if (positive != advised) return {.5, positive ? 0.0 : -least, positive, true};
    return {mixture_, logit, positive, false};
  }

  // After `predict` of the same example.
  void learn(bool truth, bool positive) {
    const double y = truth ? 1 : 0;
    fewest_ = infinity;
    for (std::size_t i = 0; i < advisers; ++i) {
      wrong_[i] += (advice_[i] >= 0) != truth ? 1 : 0;
      fewest_ = smaller(fewest_, wrong_[i]);
    }
    mistakes_ += positive != truth ? 1 : 0;
    fast_.learn(logit_, y, chance_[0]);
    slow_.learn(logit_, y, chance_[1]);
    constexpr double rate = .002, floor = 1e-280, rescale_below = 1e-100;
    const double by = rate * (y - chance_[2]);
    for (std::size_t i = 0; i < members; ++i) gradient_[i] += by * logit_[i];
    double total = 0;
    for (std::size_t i = 0; i < advisers; ++i) {
      share_[i] = larger(share_[i] * (truth ? chance_[i] : 1 - chance_[i]), floor);
      total += share_[i];
    }
    if (total < rescale_below)
      for (std::size_t i = 0; i < advisers; ++i) share_[i] /= total;
  }

  // Its numbers one after the other, for files.
  template <class Visit>
  void each_number(Visit visit) {
    for (NewtonMixer* mixer : {&fast_, &slow_}) {
      for (double& weight : mixer->weights) visit(weight);
      for (auto& row : mixer->covariance)
        for (double& cell : row) visit(cell);
    }
    for (double& weight : gradient_) visit(weight);
    for (std::size_t i = 0; i < advisers; ++i) visit(share_[i]);
    for (double& count : wrong_) visit(count);
    visit(mistakes_);
    fewest_ = *std::min_element(wrong_, wrong_ + advisers);
  }

  double mixture() const { return mixture_; }

 private:
  // Follow the advice as long as a mistake would leave the total weight W = Σ 2^(−wrong_i) at or below 19·(3/4)^(M + 1);
  // otherwise the weighted majority.
  bool guarded(bool advised) const {
    constexpr double ln2 = 0.6931471805599453, ln_three_quarters = -0.2876820724517809;
    const double allowed = (mistakes_ + 1) * ln_three_quarters;
    if (fewest_ * -ln2 <= allowed) return advised;  // W is at most 19·2^(−fewest)
    double agree = 0, positive = 0, total = 0;
    for (std::size_t i = 0; i < advisers; ++i) {
      const double weight = std::ldexp(1.0, -static_cast<int>(smaller(wrong_[i] - fewest_, 2000)));
      total += weight;
      if (advice_[i] >= 0) positive += weight;
      if ((advice_[i] >= 0) == advised) agree += weight;
    }
    const double left = (total - agree / 2) / static_cast<double>(advisers);
    const Four log = ln(all(left));
    if (numbers(log).at[0] - fewest_ * ln2 <= allowed) return advised;
    return positive >= total - positive;
  }

  NewtonMixer fast_, slow_;
  alignas(32) double gradient_[members], share_[advisers + 1];
  alignas(32) double logit_[members], advice_[advisers + 1], chance_[advisers + 1];
  double mixture_ = .5;
  double wrong_[advisers] = {}, fewest_ = 0, mistakes_ = 0;  // counts, exact up to 2^53
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
