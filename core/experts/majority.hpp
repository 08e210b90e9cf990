// Weighted Majority: expert k has the weight β^(its losses). The lean of a round is the weight of the votes for its outcome minus
// the weight of those against it.
//
// Eight rounds are played at once, expert by expert. This is possible because the losses of experts depend only on the outcomes,
// not on the learner's predictions. The eight bits "wrong in round t" of an expert are the index into a table with ±β^(number of
// wrong votes before t) for each t: + if it is right, − if it is wrong.
//
// Order of operations: within a block of eight rounds the weight of expert k is base·β^j, where j is its number of wrong votes in
// the block. After the block the base is multiplied by that β^j. After a span of blocks the bases are computed again as
// β^(loss − least loss). The term of expert k is added to lane k mod 4, and the lanes are added as (l_0 + l_2) + (l_1 + l_3). The
// total weight is summed at the beginning of a block, and computed from the leans within it. If it has fallen below a thousandth,
// it is summed again, because rounding errors do not become smaller with it. One round at a time and eight at once give the same
// bits at every SIMD level.
//
// Ties: because of rounding, the weights of two equal sides may differ slightly, and by another amount if the experts are in
// another order. Hence a lean near 0 is computed again by levels: experts with equal losses are counted, and Horner's rule adds
// the weighted counts. This does not depend on the order of the experts. Sides that differ by at most `tie` of their sum are
// equal. Other leans are not computed again, because rounding cannot change their sign.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "experts/book.hpp"

namespace mistakebound::experts {

class Majority {
 public:
  static constexpr std::size_t block = majority_block;
  static constexpr double tie = 0x1p-40;  // the same as in aggregation/majority.py

  explicit Majority(double beta) : beta_(beta) {
    // The best expert has weight 1 when bases are computed. During a span it must stay far above the weights that count as 0.
    const double most = beta > 0 ? std::min(248.0, 400 / std::log2(1 / beta)) : 0;
    by_eights_ = most >= block;
    span_ = by_eights_ ? static_cast<std::size_t>(most) / block * block : 1;
    for (std::size_t j = 0; j < behind_.size(); ++j) behind_[j] = weight_behind(static_cast<double>(j));
    power_[0] = 1;
    for (std::size_t j = 1; j <= block; ++j) power_[j] = power_[j - 1] * beta;
    for (std::size_t wrongs = 0; wrongs < lean_.size(); ++wrongs) {
      std::size_t j = 0;
      for (std::size_t t = 0; t < block; ++t) {
        const bool wrong = wrongs >> t & 1;
        lean_[wrongs][t] = wrong ? -power_[j] : power_[j];
        j += wrong;
      }
      after_[wrongs] = power_[j];
    }
  }

  std::size_t experts() const { return loss_.size(); }
  double weight(std::size_t k) const { return base_[k] * power_[in_block_[k]]; }
  double loss(std::size_t k) const { return loss_[k] + since_[k]; }
  // Weights are relative to β^unit.
  double unit() const { return *std::min_element(loss_.begin(), loss_.end()); }

  // Add experts at the end, with their losses so far.
  void join(const double* losses, std::size_t count) {
    settle();
    loss_.insert(loss_.end(), losses, losses + count);
    const std::size_t n = loss_.size();
    base_.resize(n);
    make_room(n);
    in_block_.resize(n);
    since_.resize(n);
    make_bases();
  }

  // The weight of the votes for each of `kinds` outcomes, by levels and relative to the best awake expert. Code −1 means asleep.
  void shares(const std::int32_t* code, std::size_t kinds, double* share) const {
    std::vector<std::vector<double>> losses(kinds);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < experts(); ++k) {
      if (code[k] < 0) continue;
      losses[static_cast<std::size_t>(code[k])].push_back(loss(k));
      least = std::min(least, loss(k));
    }
    for (std::size_t c = 0; c < kinds; ++c) share[c] = by_levels(losses[c], least);
  }
  // The weight of the votes for 1 minus the weight of those for 0, and 0 for a tie.
  double lean(const std::uint8_t* votes) const {
    const double rounded = summed([=, this](std::size_t k) { return votes[k] ? weight(k) : -weight(k); });
    if (!doubtful(rounded, total())) return rounded;
    return lean_by_levels([this](std::size_t k) { return loss(k); }, [=](std::size_t k) { return votes[k] == 0; });
  }

  double total() const { return summed([this](std::size_t k) { return weight(k); }); }
  void use(const Level& level) { level_ = &level; }

  // Learn one round with any advice: `code` as above, `right` is the code of the outcome. `wrong` is the wrong share of the awake
  // weight, which is added to the loss of experts that are asleep.
  void learn(const std::int32_t* code, std::int32_t right, double wrong) {
    if (std::all_of(code, code + experts(), [](std::int32_t c) { return c >= 0; })) {
      double lean, total;
      return one([=](std::size_t k) { return code[k] != right; }, lean, total);
    }
    for (std::size_t k = 0; k < experts(); ++k) charge(k, code[k] >= 0 && code[k] != right);
    settle();
    for (std::size_t k = 0; k < experts(); ++k)
      if (code[k] < 0) loss_[k] += wrong;
    make_bases();
    advance();
  }

  // Play rounds with a vote of 0 or 1 of each expert, until one has another number, and return their number. Store for each the
  // lean and the total weight. The wrong share of the weight is (1 − lean/total)/2.
  std::size_t run(const std::uint8_t* votes, const std::uint8_t* outcome, std::size_t rounds, double* lean, double* total) {
    const std::size_t n = experts();
    for (std::size_t t = 0; t < rounds;) {
      const std::uint8_t* row = votes + t * n;
      if (by_eights_ && phase_ % block == 0 && rounds - t >= block && binary(outcome + t, block) &&
          eight(row, outcome + t, lean + t, total + t)) {
        t += block;
      } else {
        if (!binary(row, n) || !binary(outcome + t, 1)) return t;
        one([=, right = outcome[t]](std::size_t k) { return row[k] != right; }, lean[t], total[t]);
        ++t;
      }
    }
    return rounds;
  }

  struct State {
    std::vector<double> loss, base;
    std::vector<std::uint8_t> in_block, since;
    std::size_t phase = 0;
    double total = 0, fresh = 0;
  };
  State state() const { return {loss_, base_, in_block_, since_, phase_, total_, fresh_}; }
  // Restore a state. Return false, without any change, if it cannot be a state of this object.
  bool restore(State state) {
    const std::size_t n = state.loss.size();
    if (state.base.size() != n || state.in_block.size() != n || state.since.size() != n || state.phase >= span_) return false;
    double most = 0;
    for (std::size_t k = 0; k < n; ++k) {
      if (state.in_block[k] > state.phase % block || state.since[k] > state.phase) return false;
      if (!(state.base[k] >= 0 && state.base[k] <= 1)) return false;
      most = std::max(most, state.base[k]);
    }
    if (n > 0 && most < 0x1p-402) return false;  // the best expert begins a span with 1, and loses at most 2^400 in it
    loss_ = std::move(state.loss), base_ = std::move(state.base);
    in_block_ = std::move(state.in_block), since_ = std::move(state.since);
    make_room(n);
    phase_ = state.phase, total_ = state.total, fresh_ = state.fresh;
    return true;
  }

 private:
  using EightLanes = std::array<std::array<double, block>, 4>;

  static double reduced(const std::array<double, 4>& lane) { return (lane[0] + lane[2]) + (lane[1] + lane[3]); }

  void make_room(std::size_t n) {
    wrongs_.resize(n);
    next_since_.resize(n);
    next_base_.resize(n);
    doubt_ = tie + static_cast<double>(2 * n + 512) * 0x1p-51;
  }
  // Whether rounding may have changed the sign of a lean, or there may be a tie.
  bool doubtful(double lean, double total) const { return !(std::fabs(lean) > doubt_ * total); }
  // The sum of β^(loss − least), largest losses first. It does not depend on the order of the experts.
  double by_levels(std::vector<double>& losses, double least) const {
    std::sort(losses.begin(), losses.end(), std::greater<>());
    double sum = 0;
    for (std::size_t k = 0, next; k < losses.size(); k = next) {
      for (next = k; next < losses.size() && losses[next] == losses[k];) ++next;
      const double above = next < losses.size() ? losses[next] : least;
      sum = (sum + static_cast<double>(next - k)) * std::pow(beta_, losses[k] - above);
    }
    return sum;
  }
  // The weight of the right experts minus the weight of the wrong ones, in the units of the bases, and 0 for a tie.
  template <class Loss, class Wrong>
  double lean_by_levels(Loss loss, Wrong wrong) const {
    std::array<std::vector<double>, 2> losses;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < experts(); ++k) {
      losses[wrong(k)].push_back(loss(k));
      least = std::min(least, losses[wrong(k)].back());
    }
    const double behind = by_levels(losses[0], least), against = by_levels(losses[1], least);
    if (!(std::fabs(behind - against) > tie * (behind + against))) return 0;
    return (behind - against) * std::pow(beta_, least - unit());
  }
  template <class Term>
  double summed(Term term) const {
    std::array<double, 4> lanes{};
    for (std::size_t k = 0; k < experts(); ++k) lanes[k & 3] += term(k);
    return reduced(lanes);
  }
  static bool binary(const std::uint8_t* values, std::size_t count) {
    std::uint8_t all = 0;
    for (std::size_t k = 0; k < count; ++k) all |= values[k];
    return all <= 1;
  }
  void charge(std::size_t k, bool wrong) {
    in_block_[k] = static_cast<std::uint8_t>(in_block_[k] + wrong);
    since_[k] = static_cast<std::uint8_t>(since_[k] + wrong);
  }
  // W⁺ = W − (1−β)·(wrong weight)
  static double left(double total, double lean, double beta) { return total - (1 - beta) * ((total - lean) / 2); }
  bool stale() const { return total_ < fresh_ / 1024; }

  template <class Wrong>
  void one(Wrong wrong, double& lean, double& total) {
    if (phase_ % block == 0) total_ = fresh_ = this->total();
    lean = summed([&](std::size_t k) { return wrong(k) ? -weight(k) : weight(k); });
    if (doubtful(lean, total_)) lean = lean_by_levels([this](std::size_t k) { return loss(k); }, wrong);
    total = total_;
    for (std::size_t k = 0; k < experts(); ++k) charge(k, wrong(k));
    total_ = left(total_, lean, beta_);
    if (stale()) total_ = fresh_ = this->total();
    advance();
  }

  // Play eight rounds. Return false, without any change, if a vote is not 0 or 1, or the total must be summed within the block.
  bool eight(const std::uint8_t* votes, const std::uint8_t* outcome, double* lean, double* total) {
    EightLanes lanes{};
    std::array<double, 4> all{};
    const MajorityBlock rounds{.n = experts(), .votes = votes, .outcome = outcome, .since = since_.data(), .base = base_.data(),
                               .lean = lean_[0].data(), .after = after_.data(), .wrongs = wrongs_.data(),
                               .next_since = next_since_.data(), .next_base = next_base_.data()};
    if (!level_->gather(rounds)) return false;
    level_->add(rounds, lanes[0].data(), all.data());
    total_ = fresh_ = reduced(all);
    for (std::size_t t = 0; t < block; ++t) {
      if (stale()) return false;
      lean[t] = reduced({lanes[0][t], lanes[1][t], lanes[2][t], lanes[3][t]});
      if (doubtful(lean[t], total_)) lean[t] = lean_by_levels(
            [&](std::size_t k) { return loss_[k] + since_[k] + std::popcount(wrongs_[k] & ((1u << t) - 1)); },
            [&](std::size_t k) { return (wrongs_[k] >> t & 1) != 0; });
      total[t] = total_;
      total_ = left(total_, lean[t], beta_);
    }
    base_.swap(next_base_);
    since_.swap(next_since_);
    phase_ += block;
    if (phase_ == span_) begin();
    return true;
  }

  void advance() {
    if (++phase_ == span_) return begin();
    if (phase_ % block != 0) return;
    for (std::size_t k = 0; k < experts(); ++k) base_[k] = weight(k);
    std::fill(in_block_.begin(), in_block_.end(), std::uint8_t{0});
  }
  void begin() {
    phase_ = 0;
    settle();
    make_bases();
  }
  void settle() {
    for (std::size_t k = 0; k < experts(); ++k) loss_[k] = loss(k);
    std::fill(since_.begin(), since_.end(), std::uint8_t{0});
    std::fill(in_block_.begin(), in_block_.end(), std::uint8_t{0});
  }
  // The weight of an expert with a loss larger than the least one by `behind`. A negligible weight is 0, because denormal numbers
  // are slow.
  double weight_behind(double behind) const {
    if (behind * std::log2(1 / beta_) > 501) return 0;
    const double weight = std::pow(beta_, behind);
    return weight < 0x1p-500 ? 0 : weight;
  }
  // The expert with the least loss has weight 1.
  void make_bases() {
    if (loss_.empty()) return;
    const double least = unit();
    for (std::size_t k = 0; k < experts(); ++k) {
      const double behind = loss_[k] - least;
      const auto whole = static_cast<std::size_t>(std::min(behind, 1e4));
      const bool known = whole < behind_.size() && static_cast<double>(whole) == behind;
      base_[k] = known ? behind_[whole] : weight_behind(behind);
    }
    total_ = fresh_ = total();
  }

  double beta_;
  const Level* level_ = &plain_level;
  bool by_eights_ = true;
  std::size_t span_ = block, phase_ = 0;
  double total_ = 0, fresh_ = 0, doubt_ = 1;
  std::array<double, block + 1> power_{};
  std::array<double, 256> after_{};
  std::array<double, 512> behind_{};  // weight_behind of 0, 1, ...
  alignas(64) std::array<std::array<double, block>, 256> lean_{};
  std::vector<double> loss_, base_, next_base_;
  std::vector<std::uint8_t> wrongs_, in_block_, since_, next_since_;
};

}  // namespace mistakebound::experts
