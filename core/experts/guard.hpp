// Weighted Majority that follows advice while W(β + (1−β)τ*) ≤ W₀·((1+β)/2)^(M + 1), otherwise the weighted plurality. W is the
// weight of all experts, W₀ their weight at the start; τ* is the largest share of the awake weight that votes for one label other
// than the advice, and M the number of mistakes so far. The specification is src/mistakebound/aggregation/guard.py.
//
// Logarithms are compared, so nothing underflows in a long stream. If the two sides differ by less than the rounding errors, the
// round is undecided, and the caller decides it with whole numbers.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "experts/majority.hpp"

namespace mistakebound::experts {

enum class Decision { undecided = -1, vote = 0, follow = 1 };  // the same numbers as in aggregation/guard.py

class Guard {
 public:
  static constexpr std::int32_t undecided = -1;

  // `start` is ln W₀. Labels have the codes from 0 to kinds − 1; −1 means asleep, or no advice.
  Guard(Majority& majority, double beta, std::size_t kinds, double start)
      : majority_(majority), beta_(beta), ln_beta_(std::log(beta)), ln_factor_(std::log1p((beta - 1) / 2)), start_(start),
        share_(kinds) {}

  // The code of the prediction, or `undecided`. A `decision` that is not `undecided` is used as it is.
  std::int32_t predict(const std::int32_t* code, std::int32_t advice, double mistakes, Decision decision) {
    weigh(code);
    if (advice < 0) decision = Decision::vote;
    if (decision == Decision::undecided) decision = decide(advice, mistakes);
    if (decision == Decision::follow) return advice;
    if (decision == Decision::undecided) return undecided;
    if (plain_sums_) majority_.shares(code, share_.size(), share_.data());  // by levels: equal weights have equal bits
    return heaviest();
  }

  // Play rounds until one is undecided, and return their number. Store for each the code of the prediction, and the wrong share of
  // the awake weight. `decision` is that of the first round.
  std::size_t run(const std::int32_t* code, const std::int32_t* right, const std::int32_t* advice, std::size_t rounds,
                  double mistakes, Decision decision, std::int32_t* prediction, double* wrong) {
    const std::size_t n = majority_.experts();
    for (std::size_t t = 0; t < rounds; ++t, code += n, decision = Decision::undecided) {
      prediction[t] = predict(code, advice[t], mistakes, decision);
      if (prediction[t] == undecided) return t;
      wrong[t] = 1 - share_[static_cast<std::size_t>(right[t])] / sum();
      majority_.learn(code, right[t], wrong[t]);
      mistakes += prediction[t] != right[t] ? 1 : 0;
    }
    return rounds;
  }

 private:
  // The weight behind each label: a plain sum of weights if no expert sleeps, otherwise by levels, because a sleeping expert may
  // have far more weight than all others.
  void weigh(const std::int32_t* code) {
    const std::size_t n = majority_.experts();
    std::fill(share_.begin(), share_.end(), 0.0);
    plain_sums_ = std::all_of(code, code + n, [](std::int32_t c) { return c >= 0; });
    if (plain_sums_)
      for (std::size_t k = 0; k < n; ++k) share_[static_cast<std::size_t>(code[k])] += majority_.weight(k);
    else
      majority_.shares(code, share_.size(), share_.data());
  }

  Decision decide(std::int32_t advice, double mistakes) const {
    double other = 0;
    for (std::size_t c = 0; c < share_.size(); ++c)
      if (c != static_cast<std::size_t>(advice)) other = std::max(other, share_[c]);
    const double awake = sum(), total = plain_sums_ ? awake : majority_.total();
    const double after = total * (beta_ + (1 - beta_) * (other / awake));  // if the advice is wrong, in units of β^unit
    const double allowed = (mistakes + 1) * ln_factor_, unit = -majority_.unit() * ln_beta_, left = -std::log(after);
    const double slack = start_ + allowed + unit + left;
    const double size = std::fabs(start_) + std::fabs(allowed) + std::fabs(unit) + std::fabs(left);
    const double doubt = static_cast<double>(2 * majority_.experts() + 512) * 0x1p-51 + size * 0x1p-49;
    return slack > doubt ? Decision::follow : slack < -doubt ? Decision::vote : Decision::undecided;
  }

  // The awake weight.
  double sum() const {
    double total = 0;
    for (const double share : share_) total += share;
    return total;
  }
  // The label with the most weight; of equal ones the greatest.
  std::int32_t heaviest() const {
    const double least = *std::max_element(share_.begin(), share_.end()) - Majority::tie * sum();
    std::size_t c = share_.size();
    while (--c > 0 && !(share_[c] >= least)) {
    }
    return static_cast<std::int32_t>(c);
  }

  Majority& majority_;
  double beta_, ln_beta_, ln_factor_, start_;
  std::vector<double> share_;
  bool plain_sums_ = true;
};

}  // namespace mistakebound::experts
