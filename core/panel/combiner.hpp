// From the scores of the members to a probability and a prediction: three mixers of logits, a Bayes mixture over members and
// mixers, and a guarded Weighted Majority over the same. Twin of src/mistakebound/aggregation.
//
// The members do not depend on the combiner, so it plays many rows at a time. An update of a covariance can then also compute
// the product with the next row.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "panel/block.hpp"
#include "panel/doubles.hpp"
#include "panel/parts.hpp"
#include "panel/roster.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

// `Width` is a multiple of four, at least the number of members that play, which are the first places. The others have no
// weight.
template <std::size_t Width>
class Combiner {
 public:
  static constexpr std::size_t voters = Width + 4;  // members, three mixers, one place without weight
  enum Mixer : std::size_t { fast = Width, slow, gradient };

  explicit Combiner(const Roster& roster) : fast_(roster, roster.fast), slow_(roster, roster.slow) {
    for (std::size_t i = 0; i < Width; ++i) {
      const bool member = i < roster.count;
      score_of_[i] = member ? roster.member[i] : 0;
      in_order_ = in_order_ && member && score_of_[i] == i;
      to_logit_[i] = member ? roster.to_logit[i] : 0;
      gradient_[i] = member ? roster.first_weight[i] : 0;
    }
    for (std::size_t i = 0; i < voters; ++i) {
      const bool member = i < roster.count, mixer = i >= fast && i <= gradient;
      const double prior = member ? .01 / static_cast<double>(roster.count) : i == gradient ? .05 : mixer ? .47 : 0;
      log_prior_[i] = first_of(ln(all(prior)));
      wrong_[i] = member || mixer ? 0 : infinity;
      product_[i] = 1;
    }
    count_ = roster.count;
    experts_ = static_cast<double>(roster.count + mixers);
    settle();
  }

  // Predict a row without learning.
  Verdict predict(const double* scores) {
    View view;
    look(scores, view);
    mix(view);
    Verdict verdict = vote(view);
    set_logits(&verdict, 1);
    return verdict;
  }

  // Predict, then learn, all rows of a block.
  void play(Block& block) {
    const std::size_t rows = block.rows();
    if (rows == 0) return;
    for (std::size_t r = 0; r < rows; ++r) look(block.scores(r), views_[r]);
    mix(views_[0]);
    Direction fast_by = fast_.product(views_[0].advice), slow_by = slow_.product(views_[0].advice);
    for (std::size_t r = 0; r < rows; ++r) {
      const View& view = views_[r];
      const Verdict verdict = block.verdict[r] = vote(view);
      const double y = block.label[r] > 0 ? 1 : 0;
      count(view, verdict, y);
      const auto error = [&](Mixer mixer) __attribute__((always_inline)) { return y - view.chance[mixer]; };
      constexpr double rate = .002;
      const Four by = all(rate * error(gradient));
#pragma GCC unroll 4
      for (std::size_t k = 0; k < Width; k += 4) store(gradient_ + k, fused(by, load(view.advice + k), load(gradient_ + k)));
      const Update of_fast = fast_.step(view.advice, error(fast), view.chance[fast], fast_by);
      const Update of_slow = slow_.step(view.advice, error(slow), view.chance[slow], slow_by);
      // The next row is mixed before the covariances change, so that the processor can do both at the same time.
      if (r + 1 < rows) {
        View& next = views_[r + 1];
        mix(next);
        fast_by = fast_.template update<true>(of_fast, fast_by, next.advice);
        slow_by = slow_.template update<true>(of_slow, slow_by, next.advice);
      } else {
        fast_.template update<false>(of_fast, fast_by, nullptr);
        slow_.template update<false>(of_slow, slow_by, nullptr);
      }
    }
    set_logits(block.verdict, rows);
  }

  // Its numbers one after the other, for files.
  template <class Visit>
  void each_number(Visit visit) {
    for (Newton* mixer : {&fast_, &slow_}) {
      for (double& weight : mixer->weights) visit(weight);
      for (auto& row : mixer->covariance)
        for (double& cell : row) visit(cell);
      for (double& drift : mixer->drift) visit(drift);
    }
    for (double& weight : gradient_) visit(weight);
    for (auto* part : {&loss_, &product_, &share_, &wrong_})
      for (double& number : *part) visit(number);
    for (double* number : {&mistakes_, &overrides_, &rounds_, &mixture_loss_, &mixture_product_}) visit(*number);
  }
  void restored() {
    for (Newton* mixer : {&fast_, &slow_})
      for (std::size_t i = 0; i < Width; ++i) mixer->diagonal[i] = mixer->covariance[i][i];
    fewest_ = *std::min_element(wrong_, wrong_ + voters);
  }

  // Mistakes, loss, share and weight of each member that plays, and then of the mixers.
  std::vector<Standing> standings() const {
    alignas(32) double loss[voters];
    now(loss_, product_, loss);
    double total = 0;
    for (std::size_t i = 0; i < voters; ++i) total += share_[i] * product_[i];
    const auto share = [&](std::size_t i) { return share_[i] * product_[i] / total; };
    std::vector<Standing> all;
    for (std::size_t i = 0; i < count_; ++i) {
      const double mixed = share(fast) * fast_.weights[i] + share(slow) * slow_.weights[i] + share(gradient) * gradient_[i];
      all.push_back({wrong_[i], loss[i], share(i), share(i) + mixed});
    }
    for (std::size_t i = fast; i <= gradient; ++i) all.push_back({wrong_[i], loss[i], share(i), share(i)});
    return all;
  }
  // The members' scores of a row, and how they are weighed.
  void explain(const double* scores, Parts& to) const {
    for (std::size_t i = 0; i < count_; ++i) to.scores.push_back(scores[score_of_[i]]), to.factors.push_back(to_logit_[i]);
    for (const double* weights : {fast_.weights, slow_.weights, gradient_}) to.mixing.insert(to.mixing.end(), weights, weights + count_);
    for (const Standing& of : standings()) to.shares.push_back(of.share);
  }
  // Which member had the least log loss, determined every 32 rounds.
  Leadership& leadership() { return leadership_; }
  const Leadership& leadership() const { return leadership_; }
  Totals totals() const {
    const double rest = first_of(ln(all(mixture_product_)));
    return {rounds_, mistakes_, overrides_, mixture_loss_ - rest, *std::min_element(wrong_, wrong_ + voters)};
  }

 private:
  static constexpr double largest_logit = 8, largest_mix = 20, least_chance = 1e-9;
  static constexpr double together = 32;  // rounds whose probabilities are multiplied before their logarithm is taken

  // One row: logits of the members and of the mixers, and the probability that each gives to the positive label.
  struct View {
    alignas(32) double advice[voters], chance[voters], against[voters];
  };
  static constexpr std::size_t parts = Width / 4;
  struct Direction {
    Four at[parts];
  };
  // The rank-one update of a covariance: its factor, and the direction.
  struct Update {
    double loss;
    alignas(32) double direction[Width];
  };

  // Logistic regression over the members' logits by an online Newton step whose covariance drifts (Kalman). The covariance is
  // the matrix plus the drift of its diagonal.
  struct Newton {
    alignas(32) double weights[Width], covariance[Width][Width], diagonal[Width], drift[Width], first[Width];

    Newton(const Roster& roster, const double* variances) {
      for (std::size_t i = 0; i < Width; ++i) {
        const bool member = i < roster.count;
        weights[i] = member ? roster.first_weight[i] : 0;
        for (double& cell : covariance[i]) cell = 0;
        diagonal[i] = covariance[i][i] = first[i] = member ? variances[i] : 0;
        drift[i] = 0;
      }
    }
    MISTAKEBOUND_INLINE Direction product(const double* a) const {
      Direction g;
#pragma GCC unroll 4
      for (std::size_t k = 0; k < parts; ++k) g.at[k] = load(drift + 4 * k) * load(a + 4 * k);
      for (std::size_t i = 0; i < Width; ++i) {
        const Four by = all(a[i]);
#pragma GCC unroll 4
        for (std::size_t k = 0; k < parts; ++k) g.at[k] = fused(load(covariance[i] + 4 * k), by, g.at[k]);
      }
      return g;
    }
    // Update weights, diagonal and drift; return the update of the matrix.
    MISTAKEBOUND_INLINE Update step(const double* a, double error, double p, const Direction& g) {
      constexpr double least_curvature = .01, by_drift = 6e-6;
      Update update;
      Four sums = g.at[0] * load(a);
#pragma GCC unroll 4
      for (std::size_t k = 1; k < parts; ++k) sums = fused(g.at[k], load(a + 4 * k), sums);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < parts; ++k) store(update.direction + 4 * k, g.at[k]);
      const double curvature = larger(p * (1 - p), least_curvature);
      const double shrink = 1 / (1 + curvature * sum(sums));
      update.loss = curvature * shrink;
      const Four by = all(error * shrink), losing = all(-update.loss);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < parts; ++k) {
        store(weights + 4 * k, fused(by, g.at[k], load(weights + 4 * k)));
        const Four lost = losing * g.at[k];
        const Four own = fused(lost, g.at[k], load(diagonal + 4 * k)), moved = load(drift + 4 * k);
        store(diagonal + 4 * k, own);
        store(drift + 4 * k, moved + where(own + moved < load(first + 4 * k), all(by_drift)));
      }
      return update;
    }
    // Update the matrix; return the product of the new covariance with the next row.
    template <bool More>
    MISTAKEBOUND_INLINE Direction update(const Update& by, const Direction& g, const double* next) {
      Direction product;
      if constexpr (More) {
#pragma GCC unroll 4
        for (std::size_t k = 0; k < parts; ++k) product.at[k] = load(drift + 4 * k) * load(next + 4 * k);
      }
#pragma GCC unroll 4
      for (std::size_t i = 0; i < Width; ++i) {
        const Four lost = all(-by.loss * by.direction[i]);
        Four times;
        if constexpr (More) times = all(next[i]);
#pragma GCC unroll 4
        for (std::size_t k = 0; k < parts; ++k) {
          double* const cells = covariance[i] + 4 * k;
          const Four after = fused(lost, g.at[k], load(cells));
          store(cells, after);
          if constexpr (More) product.at[k] = fused(after, times, product.at[k]);
        }
      }
      return product;
    }
  };

  // The logits of the members, and the probabilities that belong to them.
  MISTAKEBOUND_INLINE void look(const double* scores, View& view) const {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < Width; k += 4) {
      const Four own = in_order_ ? load(scores + k)
                                 : four(scores[score_of_[k]], scores[score_of_[k + 1]], scores[score_of_[k + 2]], scores[score_of_[k + 3]]);
      logistic(most(least(own * load(to_logit_ + k), all(largest_logit)), all(-largest_logit)), view, k);
    }
  }
  // The same for the mixers.
  MISTAKEBOUND_INLINE void mix(View& view) const {
    Four sums[3] = {all(0), all(0), all(0)};
#pragma GCC unroll 4
    for (std::size_t k = 0; k < Width; k += 4) {
      const Four logits = load(view.advice + k);
      sums[0] = fused(logits, load(fast_.weights + k), sums[0]);
      sums[1] = fused(logits, load(slow_.weights + k), sums[1]);
      sums[2] = fused(logits, load(gradient_ + k), sums[2]);
    }
    const Four mixed = four(sum(sums[0]), sum(sums[1]), sum(sums[2]), 0);
    logistic(most(least(mixed, all(largest_mix)), all(-largest_mix)), view, Width);
  }
  static MISTAKEBOUND_INLINE void logistic(Four logits, View& view, std::size_t k) {
    const Four e = quick_exp(-logits), p = 1.0 / (1.0 + e);
    store(view.advice + k, logits);
    store(view.chance + k, p);
    store(view.against + k, e * p);
  }

  MISTAKEBOUND_INLINE Verdict vote(const View& view) {
    Four mixed = all(0), total = all(0);
#pragma GCC unroll 5
    for (std::size_t i = 0; i < voters; i += 4) {
      const Four share = load(share_ + i) * load(product_ + i);
      mixed = fused(share, load(view.chance + i), mixed);
      total += share;
    }
    const double p = clip(sum(mixed) / sum(total) - .5, .5 - least_chance) + .5;
    mixture_ = p;
    // Then the logit ln(p/(1 − p)) is at least −1e-9, which counts as 0.
    const bool advised = p >= .5 - least_chance / 4;
    const bool positive = guarded(view, advised);
    return {p, 0, positive, positive != advised};
  }

  // Follow the advice if a mistake would leave the total weight W = Σ 2^(−wrong_i) at or below n·(3/4)^(M + 1), otherwise the
  // weighted majority. The margin is larger than all rounding errors, so these cannot break the theorem.
  MISTAKEBOUND_INLINE bool guarded(const View& view, bool advised) const {
    constexpr double ln2 = 0.6931471805599453, ln_three_quarters = -0.2876820724517809, margin = 1e-12;
    const double limit = (mistakes_ + 1) * ln_three_quarters, allowed = limit - margin * (1 - limit);  // limit < 0
    if (fewest_ * -ln2 <= allowed) [[likely]]
      return advised;  // W is at most n·2^(−fewest)
    return weighed(view, advised, allowed);
  }
  bool weighed(const View& view, bool advised, double allowed) const {
    constexpr double ln2 = 0.6931471805599453;
    double agree = 0, positive = 0, total = 0;
    for (std::size_t i = 0; i < voters; ++i) {
      const double weight = std::ldexp(1.0, -static_cast<int>(smaller(wrong_[i] - fewest_, 2000)));
      total += weight;
      if (view.advice[i] >= 0) positive += weight;
      if ((view.advice[i] >= 0) == advised) agree += weight;
    }
    const double left = (total - agree / 2) / experts_;
    if (first_of(ln(all(left))) - fewest_ * ln2 <= allowed) return advised;
    return positive >= total - positive;
  }

  // Bayes mixture and guard after the label. No branch depends on the label, which is hard to predict.
  MISTAKEBOUND_INLINE void count(const View& view, const Verdict& verdict, double y) {
    const Mask truth = all(y) > 0.5;
    Four fewest = all(infinity);
#pragma GCC unroll 5
    for (std::size_t i = 0; i < voters; i += 4) {
      store(product_ + i, load(product_ + i) * choose(truth, load(view.chance + i), load(view.against + i)));
      const Four right = choose(truth, load(view.advice + i), -load(view.advice + i));
      // Logits of 0 vote for the positive label.
      const Four wrong = load(wrong_ + i) + where((right < 0.0) | ((right == 0.0) & ~truth), all(1));
      store(wrong_ + i, wrong);
      fewest = least(fewest, wrong);
    }
    const Numbers<Four> four = numbers(fewest);
    fewest_ = smaller(smaller(four.at[0], four.at[2]), smaller(four.at[1], four.at[3]));
    mistakes_ += std::fabs((verdict.positive ? 1.0 : 0.0) - y);
    overrides_ += verdict.overridden ? 1 : 0;
    mixture_product_ *= (1 - y) + mixture_ * (2 * y - 1);
    rounds_ += 1;
    if (static_cast<std::int64_t>(rounds_) % static_cast<std::int64_t>(together) == 0) settle();
  }
  // Take the logarithms of the products, and compute the shares of the Bayes mixture from them.
  void settle() {
    alignas(32) double weight[voters];
    now(loss_, product_, loss_);
    double top = -infinity;
    for (std::size_t i = 0; i < voters; ++i) {
      weight[i] = log_prior_[i] - loss_[i];
      top = larger(top, weight[i]);
    }
    for (std::size_t i = 0; i < voters; i += 4) {
      store(share_ + i, exp(load(weight + i) - all(top)));
      store(product_ + i, all(1));
    }
    mixture_loss_ -= first_of(ln(all(mixture_product_)));
    mixture_product_ = 1;
    if (rounds_ > 0) leadership_.add(rounds_, static_cast<std::size_t>(std::min_element(loss_, loss_ + count_) - loss_));
  }
  static void now(const double* loss, const double* product, double* out) {
    for (std::size_t i = 0; i < voters; i += 4) store(out + i, load(loss + i) - ln(load(product + i)));
  }

  // Logits from probabilities, on the side of the prediction. If the guard overrode the mixture, the probability is ½.
  static void set_logits(Verdict* verdicts, std::size_t rows) {
    for (std::size_t first = 0; first < rows; first += 4) {
      Numbers<Four> p{{.5, .5, .5, .5}};
      for (std::size_t r = first; r < rows && r < first + 4; ++r) p.at[r - first] = verdicts[r].probability;
      const Four chance = load(p.at);
      const Numbers<Four> logits = numbers(ln(chance / (1.0 - chance)));
      for (std::size_t r = first; r < rows && r < first + 4; ++r) {
        Verdict& verdict = verdicts[r];
        double logit = verdict.overridden ? 0 : logits.at[r - first];
        if (verdict.overridden) verdict.probability = .5;
        if (std::fabs(logit) < least_chance) logit = 0;
        verdict.logit = verdict.positive ? larger(logit, 0) : smaller(logit, -least_chance);
      }
    }
  }

  Leadership leadership_;
  Newton fast_, slow_;
  View views_[Block::most_rows];
  std::size_t score_of_[Width];  // the score that each place reads
  bool in_order_ = true;         // whether place i reads score i
  alignas(32) double to_logit_[Width], gradient_[Width];
  // Of members and mixers: log prior, loss up to the last time that products were taken into it, product of the probabilities
  // given to the labels since then, share in the Bayes mixture at that time, and mistakes (exact up to 2^53).
  alignas(32) double log_prior_[voters], loss_[voters] = {}, product_[voters], share_[voters] = {}, wrong_[voters] = {};
  std::size_t count_ = 0;
  double experts_ = 0, fewest_ = 0, mistakes_ = 0, overrides_ = 0, rounds_ = 0, mixture_ = .5, mixture_loss_ = 0, mixture_product_ = 1;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
