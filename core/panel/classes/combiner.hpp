// From the scores of the members to probabilities of the classes and a prediction: three mixers of log probabilities, a Bayes
// mixture over members and mixers, the probability of a new label, and a guarded plurality vote.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "panel/classes/mixers.hpp"
#include "panel/classes/new_label.hpp"
#include "panel/classes/scores.hpp"
#include "panel/parts.hpp"
#include "panel/roster.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class ClassCombiner {
 public:
  explicit ClassCombiner(const Roster& roster) : count_(roster.count + 1) {
    for (std::size_t i = 0; i < count_; ++i) {
      const bool is_prior = i == roster.count;
      member_[i] = is_prior ? prior : roster.member[i];
      factor_[i] = is_prior ? 1 : roster.to_logit[i];
      fast_.at[i] = slow_.at[i] = gradient_.at[i] = is_prior ? 0 : roster.first_weight[i];
      fast_.covariance[i][i] = fast_.first[i] = is_prior ? prior_fast : roster.fast[i];
      slow_.covariance[i][i] = slow_.first[i] = is_prior ? prior_slow : roster.slow[i];
    }
    for (std::size_t e = 0; e < experts(); ++e)
      log_prior_[e] = first_of(ln(all(e < count_ ? .01 / static_cast<double>(count_) : e == count_ + 2 ? .05 : .47)));
  }

  ClassVerdict predict(const ClassScores& z, std::size_t classes) {
    ClassVerdict verdict;
    verdict.fresh = new_label_.chance();
    probabilities_.assign(1, verdict.fresh);
    if (classes == 0) return verdict;
    said_.resize((classes + 3) / 4 * 4);
    look(z, classes);
    for (std::size_t i = 0; i < count_; i += 4) said_.four_from(i).normalise(classes, floor_);
    mix(classes);
    average(classes);
    const auto advised = static_cast<std::size_t>(std::max_element(mixture_.begin(), mixture_.end()) - mixture_.begin());
    const std::size_t predicted = guarded(advised, classes);
    verdict.prediction = static_cast<std::int32_t>(predicted);
    verdict.overridden = predicted != advised;
    probabilities_ = mixture_;
    if (verdict.overridden) share_out(advised, predicted);
    for (double& p : probabilities_) p *= 1 - verdict.fresh;
    probabilities_.push_back(verdict.fresh);
    return verdict;
  }
  const std::vector<double>& probabilities() const { return probabilities_; }

  // Members that play, the prior and the mixers.
  std::size_t experts() const { return count_ + mixers; }
  // What an expert said of a class, for the row that was predicted last.
  double log_probability(std::size_t expert, std::size_t k) const { return said_.logs(k)[expert]; }

  // The members' scores of a row, and how they are weighed.
  void explain(const ClassScores& z, std::size_t classes, Parts& to) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const float* const of = z.of(member_[i]);
      to.scores.insert(to.scores.end(), of, of + classes);
      to.factors.push_back(factor_[i]);
    }
    for (const double* weights : {fast_.at, slow_.at, gradient_.at}) to.mixing.insert(to.mixing.end(), weights, weights + count_);
    const auto share = shares();
    to.shares.assign(share.begin(), share.begin() + static_cast<std::ptrdiff_t>(experts()));
  }

  // Learn the label of the row that was predicted last. `classes`: those seen before; `seen_before`: rows with the label.
  void learn(const ClassVerdict& verdict, std::int32_t label, std::size_t classes, double seen_before) {
    const auto y = static_cast<std::size_t>(label);
    const bool is_new = y == classes;
    new_label_.learn(is_new, seen_before);
    if (is_new) return;
    rounds_ += 1;
    mistakes_ += verdict.prediction != label ? 1 : 0;
    overrides_ += verdict.overridden ? 1 : 0;
    mixture_loss_ -= first_of(quick_ln(all(mixture_[y])));
    for (std::size_t e = 0; e < experts(); ++e) {
      wrong_[e] += vote_[e] != static_cast<double>(y) ? 1 : 0;
      loss_[e] -= said_.logs(y)[e];
    }
    if (static_cast<std::int64_t>(rounds_) % 32 == 0)
      leadership_.add(new_label_.rounds, static_cast<std::size_t>(std::min_element(loss_, loss_ + count_) - loss_));
    if (classes > 1) learn_mixers(y, classes);
  }

  template <class Visit>
  void each_number(Visit visit) {
    for (std::size_t b = 0; b < mixers; ++b)
      for (std::size_t i = 0; i < count_; ++i) visit((b == 0 ? fast_.at : b == 1 ? slow_.at : gradient_.at)[i]);
    for (ClassNewton* mixer : {&fast_, &slow_})
      for (std::size_t i = 0; i < count_; ++i)
        for (std::size_t j = 0; j < count_; ++j) visit(mixer->covariance[i][j]);
    for (double* const of : {loss_, wrong_})
      for (std::size_t e = 0; e < experts(); ++e) visit(of[e]);
    for (double* number : {&mistakes_, &overrides_, &rounds_, &mixture_loss_}) visit(*number);
    new_label_.each_number(visit);
  }
  bool valid() const {
    return fast_.valid(count_) && slow_.valid(count_) && gradient_.valid(count_) &&
           std::all_of(wrong_, wrong_ + experts(), is_count) && is_count(mistakes_) && is_count(overrides_) && is_count(rounds_) && new_label_.valid();
  }
  // Whether these can be the rounds and members of the changes of the leader.
  bool allows(const std::vector<double>& leads) const {
    for (std::size_t k = 0; k < leads.size(); k += 2)
      if (!is_count(leads[k]) || leads[k] > rounds() || (k > 0 && leads[k] < leads[k - 2]) || !is_count(leads[k + 1]) || leads[k + 1] >= static_cast<double>(count_))
        return false;
    return true;
  }
  double rounds() const { return new_label_.rounds; }

  std::vector<Standing> standings() const {
    const auto share = shares();
    std::vector<Standing> all_of;
    const double* const of_mixer = share.data() + count_;
    for (std::size_t e = 0; e < experts(); ++e) {
      const double mixed = e < count_ ? of_mixer[0] * fast_.at[e] + of_mixer[1] * slow_.at[e] + of_mixer[2] * gradient_.at[e] : 0;
      all_of.push_back({wrong_[e], loss_[e], share[e], share[e] + mixed});
    }
    return all_of;
  }
  Totals totals() const { return {rounds_, mistakes_, overrides_, mixture_loss_, *std::min_element(wrong_, wrong_ + experts())}; }
  Leadership& leadership() { return leadership_; }
  const Leadership& leadership() const { return leadership_; }

 private:
  static constexpr double largest_logit = 8, floor_ = -12, least_chance = 1e-12;

  // The scores of the members as log probabilities, up to a constant.
  void look(const ClassScores& z, std::size_t classes) {
    const double tau = temperature(classes);
    for (std::size_t k = 0; k < classes; k += 4) {
      double* const to = said_.log_chance.data() + k * class_width;
      for (std::size_t i = 0; i < count_; ++i) {
        const Link link = link_of[member_[i]];
        const float* const of = z.of(member_[i]) + k;
        Four advice = four(of[0], of[1], of[2], of[3]) * all(link == Link::softmax ? tau : factor_[i]);
        if (link == Link::logit) advice = -quick_ln(1.0 + quick_exp(-most(least(advice, all(largest_logit)), all(-largest_logit))));
        const Numbers<Four> each = numbers(advice);
        for (std::size_t j = 0; j < 4; ++j) to[j * class_width + i] = each.at[j];
      }
    }
  }
  // Σ_i v_i l_ik of all mixers, as log probabilities.
  void mix(std::size_t classes) {
    constexpr double least_log_chance = -20;
    mixed_.resize(classes * 4), mixed_chance_.resize(classes * 4);
    for (std::size_t k = 0; k < classes; ++k) {
      const double* const logs = said_.logs(k);
      store(mixed_.data() + 4 * k, four(dot(fast_.at, logs), dot(slow_.at, logs), dot(gradient_.at, logs), 0));
    }
    FourExperts{mixed_.data(), mixed_chance_.data(), 4}.normalise(classes, least_log_chance);
    for (std::size_t k = 0; k < classes; ++k)
      for (std::size_t b = 0; b < mixers; ++b) {
        said_.log_chance[k * class_width + count_ + b] = mixed_[4 * k + b];
        said_.chance[k * class_width + count_ + b] = mixed_chance_[4 * k + b];
      }
  }

  // Shares of members and mixers in the Bayes mixture. Those of the places behind them are 0.
  std::array<double, class_width> shares() const {
    alignas(32) std::array<double, class_width> share{};
    double top = -infinity, total = 0;
    for (std::size_t e = 0; e < experts(); ++e) top = larger(top, log_prior_[e] - loss_[e]);
    for (std::size_t e = 0; e < experts(); e += 4) store(share.data() + e, exp(load(log_prior_ + e) - load(loss_ + e) - top));
    for (std::size_t e = experts(); e < class_width; ++e) share[e] = 0;
    for (const double of : share) total += of;
    for (double& of : share) of /= total;
    return share;
  }
  void average(std::size_t classes) {
    const auto share = shares();
    mixture_.resize(classes);
    for (std::size_t k = 0; k < classes; ++k) mixture_[k] = larger(dot(share.data(), said_.chances(k)), least_chance);
  }

  // Follow the advice if a mistake would leave the total weight W = Σ 2^(−wrong) at or below n·(3/4)^(M + 1) whatever the label
  // is, otherwise the plurality. τ·W is the largest weight of another label; a mistake leaves at most W(1 + τ)/2.
  std::size_t guarded(std::size_t advised, std::size_t classes) {
    vote(classes);
    constexpr double ln2 = 0.6931471805599453, ln_three_quarters = -0.2876820724517809;
    const double fewest = *std::min_element(wrong_, wrong_ + experts()), limit = (mistakes_ + 1) * ln_three_quarters;
    if (-ln2 * fewest < limit - margin * (1 - limit)) return advised;  // W is at most n·2^(−fewest)
    weight_of_.assign(classes, 0);
    double total = 0;
    for (std::size_t e = 0; e < experts(); ++e) {
      const double weight = std::ldexp(1.0, -static_cast<int>(smaller(wrong_[e] - fewest, 2000)));
      total += weight;
      weight_of_[static_cast<std::size_t>(vote_[e])] += weight;
    }
    double other = 0;
    for (std::size_t k = 0; k < classes; ++k)
      if (k != advised) other = larger(other, weight_of_[k]);
    if (at_most((total + other) / 2, fewest)) return advised;
    return static_cast<std::size_t>(std::max_element(weight_of_.begin(), weight_of_.end()) - weight_of_.begin());
  }
  // The class that each expert finds most probable, the first of several.
  void vote(std::size_t classes) {
    for (std::size_t e = 0; e < experts(); e += 4) {
      Four top = load(said_.logs(0) + e), best = all(0);
      for (std::size_t k = 1; k < classes; ++k) {
        const Four logs = load(said_.logs(k) + e);
        best = choose(logs > top, all(static_cast<double>(k)), best);
        top = most(logs, top);
      }
      store(vote_ + e, best);
    }
  }
  // Whether left·2^(−fewest) ≤ n·(3/4)^(M + 1). The margin is larger than all rounding errors; a tie is decided exactly, which
  // the first mistakes need: afterwards 3^(M + 1) has too many digits for a tie.
  bool at_most(double left, double fewest) const {
    constexpr double ln2 = 0.6931471805599453, ln_three_quarters = -0.2876820724517809, most_exact = 30;
    const auto n = static_cast<double>(experts());
    const double power = mistakes_ + 1, limit = power * ln_three_quarters;
    const double off = first_of(ln(all(left / n))) - fewest * ln2 - limit;
    if (std::fabs(off) > margin * (1 - limit)) return off < 0;
    if (power > most_exact) return false;
    double right = n;
    for (int k = 0; k < static_cast<int>(power); ++k) right *= 3;
    return std::ldexp(left, -static_cast<int>(smaller(fewest, 2000))) <= std::ldexp(right, -2 * static_cast<int>(power));
  }
  static constexpr double margin = 1e-12;

  // The guard overrode the mixture: both labels get the mean of their probabilities, just on the side of the prediction.
  void share_out(std::size_t advised, std::size_t predicted) {
    constexpr double just = 1e-9;
    const double mean = (probabilities_[advised] + probabilities_[predicted]) / 2;
    probabilities_[predicted] = mean * (1 + just);
    probabilities_[advised] = mean * (1 - just);
    for (std::size_t k = 0; k < probabilities_.size(); ++k)
      if (k != predicted) probabilities_[k] = smaller(probabilities_[k], probabilities_[advised]);
    double total = 0;
    for (const double p : probabilities_) total += p;
    for (double& p : probabilities_) p /= total;
  }

  void learn_mixers(std::size_t y, std::size_t classes) {
    constexpr double rate = .002;
    for (std::size_t b = 0; b < mixers; ++b) {
      lesson_.look(said_, count_ + b, y, classes);
      if (b < 2)
        (b == 0 ? fast_ : slow_).learn(said_, count_, lesson_);
      else
        for (std::size_t i = 0; i < count_; ++i) gradient_.at[i] += rate * lesson_.gradient[i];
    }
  }

  std::size_t count_;  // members and the prior
  std::size_t member_[class_members] = {};
  double factor_[class_members] = {};
  ClassNewton fast_, slow_;
  ClassWeights gradient_;
  NewLabel new_label_;
  Leadership leadership_;
  alignas(32) double log_prior_[class_width] = {}, loss_[class_width] = {}, wrong_[class_width] = {};
  double mistakes_ = 0, overrides_ = 0, rounds_ = 0, mixture_loss_ = 0;
  // Of the row that was predicted last: members, then the mixers.
  Distributions said_;
  alignas(32) double vote_[class_width] = {};
  std::vector<double> mixed_, mixed_chance_, mixture_, probabilities_, weight_of_;
  MixerLesson lesson_;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
