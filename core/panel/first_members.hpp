// The first group of members: coin betting, exponentiated gradients, naive Bayes and the decision list. It also
// computes the views of x that the other groups use. Eight features are processed at a time. Twin of src/mistakebound/rules.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "panel/block.hpp"
#include "panel/doubles.hpp"
#include "panel/feature_table.hpp"
#include "panel/floats.hpp"
#include "panel/parts.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

// The views of eight places: x divided by its largest size so far, how rare a feature is (1 for the constant), and which features
// are frequent. `after`: in how many rows each of them occurs, with this one; `round`: the number of this row, from 1 on.
MISTAKEBOUND_INLINE Floats scaled_by(Floats value, Floats scale_before) { return value / most(scale_before, size(value)); }
MISTAKEBOUND_INLINE Floats rarity(Floats after, float round, Whole is_feature) {
  return choose(is_feature, ln((after + round) / after), eight(1));
}
MISTAKEBOUND_INLINE std::uint8_t frequent_places(Floats after, float round) { return places(after * 4.0f >= round - 1.0f); }

class FirstMembers {
 public:
  template <class Visit>
  void each_number(Visit visit) {
    visit(positives_), visit(negatives_), visit(rounds_);
  }

  // Score a row without changing what is kept: changes are made in the scratch of the row, which `learn` writes back. `third`:
  // what to prefetch of the third group, or null. `Shared`: whether the block has the views of the row already.
  template <Layout L, bool Shared = false>
  void score(const Row& x, FeatureTable& features, const Third* third, Block& block, std::size_t r) {
    fetching_ = {features.first(0), third};
    if (groups_.size() < x.groups) groups_.resize(2 * x.groups);
    for (std::size_t k = 0; k < lanes; ++k) tail_[k] = (x.groups - 1) * lanes + k < x.size ? -1 : 0;
    double* const scores = block.scores(r);
    if constexpr (Shared) norm_ = block.norm(r);
    score_bets<L, Shared>(x, features.first(0), block.scaled(r), scores);
    score_counts<L, Shared>(x, block.scaled(r), block.rare(r), block.frequent(r), scores);
    if constexpr (!Shared) block.norm(r) = norm_, block.rarity_norm(r) = rarity_norm_;
  }

  // What each place of the row that was scored last adds to the scores.
  void explain(const Row& x, const float* scaled, Parts& to) const {
    const Base base = base_now();
    const double shrink = 1 / larger(1, static_cast<double>(x.size) / 24);
    double fourths = 0;
    std::vector<double> fifth(x.size + 1);
    for (std::size_t place = 0; place <= x.size; ++place) {
      const Group& group = groups_[place / lanes];
      const std::size_t j = place % lanes;
      const double u = scaled[place];
      to.of(place, coin) = static_cast<double>(group.bet[j]) * u * norm_;
      to.of(place, eg) = static_cast<double>(group.at[eg_w][j]) * u * (norm_ * .5);
      if (place == x.size) break;
      float evidences[lanes];
      store(evidences, evidence(counts(group.at[positives]), counts(group.at[negatives]), base));
      const double r = evidences[j], fourth = (r * r) * (r * r);
      to.of(place, bayes) = std::fabs(u) * r * shrink;
      fourths += fourth;
      fifth[place] = fourth * r;
    }
    for (std::size_t place = 0; place < x.size; ++place) to.of(place, list) = fourths > 0 ? fifth[place] / fourths : 0;
    to.of(x.size, bayes) = to.of(x.size, list) = base.prior;
  }

  // Count rounds without the label that were played before this panel began.
  void count_earlier(double rounds) { negatives_ += rounds, rounds_ += rounds; }
  double rounds() const { return rounds_; }
  bool with_fractions() const { return with_fractions_; }
  // Whether some counts of features are not whole.
  void set_with_fractions(bool some) { with_fractions_ = some; }

  // The records of a group of the row that was scored last.
  float* const* records(std::size_t group) const { return groups_[group].record; }

  // Learn the row that was scored last.
  template <Layout L>
  void learn(const Row& x, int label, double weight, const float* scaled, const double* scores) {
    constexpr float eg_limit = 242582597.7f;  // sinh 20
    const double y = label;
    const bool far = weight > 1, one = weight == 1 && !with_fractions_;
    const Four surprise = sigmoid(four(scores[coin], scores[eg], 0, 0) * -y);  // σ(−y·score)
    const auto norm = static_cast<float>(norm_), by_coin = static_cast<float>(y * numbers(surprise).at[0] * weight) * norm, floor = .5f * norm;
    const float by_eg = static_cast<float>(.5 * y * numbers(surprise).at[1] * weight) * norm;
    const std::int32_t positive = label > 0 ? -1 : 0;
    Group* group = groups_.data();
    for (std::size_t g = 0; g < x.groups; ++g, ++group) {
      fetch<L, FeatureTable::first_stride<L>, 6, 8, 4, 5>(x, g, fetching_);
      const auto old = [&](std::size_t field) __attribute__((always_inline)) { return load(group->at[field]); };
      const Floats u = load(scaled + g * lanes);
      const Whole feature = is_feature(x, g);
      Floats a[half_floats];
      a[scale] = old(scale);
      if (one) [[likely]] {
        a[positives] = counted(old(positives), feature & positive);
        a[negatives] = counted(old(negatives), feature & ~positive);
      } else {
        a[positives] = label > 0 ? counted_more(group->at[positives], feature, weight) : old(positives);
        a[negatives] = label > 0 ? old(negatives) : counted_more(group->at[negatives], feature, weight);
      }
      const Floats gradient = u * by_coin, bet = size(gradient);
      a[coin_sum] = old(coin_sum) + gradient;
      a[coin_size] = old(coin_size) + bet;
      a[coin_reward] = most(least(fused(load(group->bet), gradient, old(coin_reward)), eight(largest_reward)), eight(0));
      a[coin_most] = most(most(old(coin_most), bet), size(u) * floor);
      a[eg_w] = clip(far ? sinh_moved_far(old(eg_w), u * by_eg) : sinh_moved(old(eg_w), u * by_eg), eg_limit);
      scatter(a, group->record);
    }
    (label > 0 ? positives_ : negatives_) += weight;
    rounds_ += weight;
  }

 private:
  // Eight features: their numbers as vectors, and what a round needs of them.
  struct alignas(32) Group {
    float at[half_floats][lanes];
    float bet[lanes];
    float* record[lanes];
  };

  // Add the weight to the counts of the features of a group.
  Floats counted_more(const float* counts, Whole feature, double weight) {
    float after[lanes];
    std::int32_t is_one[lanes];
    __builtin_memcpy(is_one, &feature, sizeof is_one);
    for (std::size_t j = 0; j < lanes; ++j) {
      after[j] = is_one[j] != 0 ? count_more(counts[j], weight) : counts[j];
      with_fractions_ |= std::signbit(after[j]);
    }
    return load(after);
  }

  // The constant and the padding are not features: they are not counted.
  MISTAKEBOUND_INLINE Whole is_feature(const Row& x, std::size_t g) const { return load(g + 1 == x.groups ? tail_ : every_); }

  template <Layout L, bool Shared>
  void score_bets(const Row& x, float* table, float* scaled, double* scores) {
    [[maybe_unused]] Floats squares = eight(0);
    Floats z_coin = eight(0), z_eg = eight(0);
    Group* group = groups_.data();
    for (std::size_t g = 0; g < x.groups; ++g, ++group) {
      fetch<L, FeatureTable::first_stride<L>, 0, 3, 0, 2>(x, g, fetching_);
      const std::int32_t* const at = x.index_of(g);
#pragma GCC unroll 8
      for (std::size_t j = 0; j < lanes; ++j) group->record[j] = table + FeatureTable::first_stride<L> * at[j];
      Floats a[half_floats];
      gather(group->record, a);
      const Floats v = load(x.value_of(g));
      Floats u;
      if constexpr (Shared) {
        u = load(scaled + g * lanes);
      } else {
        u = scaled_by(v, a[scale]);
        squares = fused(u, u, squares);
        store(scaled + g * lanes, u);
      }
      a[scale] = most(a[scale], size(v));
      const Floats most_bet = most(a[coin_most], eight(least_bet));
      const Floats w = clip((a[coin_sum] * (most_bet + a[coin_reward])) / (most_bet * (a[coin_size] + most_bet)), largest_weight);
      store(group->bet, w);
      z_coin = fused(w, u, z_coin);
      z_eg = fused(a[eg_w], u, z_eg);
#pragma GCC unroll 8
      for (std::size_t f = 0; f < half_floats; ++f) store(group->at[f], a[f]);
    }
    // The norm factors out of the sums; the constant has added the 1.
    if constexpr (!Shared) norm_ = 1 / std::sqrt(static_cast<double>(sum(squares)));
    scores[coin] = norm_ * sum(z_coin);
    scores[eg] = norm_ * .5 * sum(z_eg);
  }

  // The share of positive labels, with its log odds.
  struct Base {
    double prior;
    float p, q, logit;
  };
  MISTAKEBOUND_INLINE Base base_now() const {
    const double share = positives_ / (positives_ + negatives_), prior = ln_ratio(positives_, negatives_);
    return {prior, static_cast<float>(share), static_cast<float>(1 - share), static_cast<float>(prior)};
  }
  // What the counts of a feature add to the log odds; 0 if it was never seen.
  static MISTAKEBOUND_INLINE Floats evidence(Floats plus, Floats minus, const Base& base) {
    return choose(plus + minus > 0.0f, ln((plus + base.p) / (minus + base.q)) - base.logit, eight(0));
  }

  // What follows from the counts: how rare a feature is, and its evidence for naive Bayes and the decision list.
  template <Layout L, bool Shared>
  void score_counts(const Row& x, const float* scaled, [[maybe_unused]] float* of_rarity, [[maybe_unused]] std::uint8_t* frequent, double* scores) {
    const Base base = base_now();
    [[maybe_unused]] const auto round = static_cast<float>(rounds_ + 1);
    [[maybe_unused]] const bool wide = x.size > most_for_pairs && x.size <= most_for_tokens;
    [[maybe_unused]] Floats rare_squares = eight(0);
    Floats z_bayes = eight(0), fourths = eight(0), fifths = eight(0);
    const Group* group = groups_.data();
    for (std::size_t g = 0; g < x.groups; ++g, ++group) {
      fetch<L, FeatureTable::first_stride<L>, 3, 6, 2, 4>(x, g, fetching_);
      const Floats u = load(scaled + g * lanes), plus = counts(group->at[positives]), minus = counts(group->at[negatives]);
      if constexpr (!Shared) {
        const Floats count = plus + minus, after = count + 1.0f;
        const Floats rare = u * rarity(after, round, is_feature(x, g));
        rare_squares = fused(rare, rare, rare_squares);
        store(of_rarity + g * lanes, rare);
        if (wide) frequent[g] = frequent_places(after, round);
      }
      const Floats r = evidence(plus, minus, base);
      z_bayes = fused(size(u), r, z_bayes);
      const Floats square = r * r, fourth = square * square;
      fourths += fourth;
      fifths = fused(fourth, r, fifths);
    }
    if constexpr (!Shared) rarity_norm_ = 1 / std::sqrt(static_cast<double>(sum(rare_squares)));
    scores[bayes] = base.prior + sum(z_bayes) / larger(1, static_cast<double>(x.size) / 24);
    const double total = sum(fourths);
    scores[list] = base.prior + (total > 0 ? sum(fifths) / total : 0);
  }

  MISTAKEBOUND_INLINE Floats counts(const float* kept) const { return with_fractions_ ? any_count_of(load(kept)) : count_of(load(kept)); }

  double positives_ = 1, negatives_ = 1, rounds_ = 0;  // sums of weights; the first two begin with 1
  bool with_fractions_ = false;

  // Of the row that was scored last.
  Fetching fetching_{};
  std::vector<Group> groups_;
  static constexpr std::int32_t every_[lanes] = {-1, -1, -1, -1, -1, -1, -1, -1};
  std::int32_t tail_[lanes] = {};
  double norm_ = 1, rarity_norm_ = 1;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
