// The second group of members: implicit steps, AROW, AdaGrad and FTRL-Proximal, on views of x that the first group has
// computed.
// Twin of src/mistakebound/rules.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "panel/block.hpp"
#include "panel/doubles.hpp"
#include "panel/feature_table.hpp"
#include "panel/first_members.hpp"
#include "panel/floats.hpp"
#include "panel/parts.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class SecondMembers {
 public:
  // Score a row without changing what is kept. `first`: the first group, which has scored the same row.
  template <Layout L>
  void score(const Row& x, [[maybe_unused]] const FirstMembers& first, FeatureTable& features, const Third* third, Block& block, std::size_t r) {
    fetching_ = {L == Layout::one_thread ? features.first(0) : features.second(0), third};
    if (groups_.size() < x.groups) groups_.resize(2 * x.groups);
    const float *scaled = block.scaled(r), *rare = block.rare(r);
    [[maybe_unused]] float* const table = features.second(0);
    // Squares of values up to 1e30 are too large for float32.
    const float length_scale = x.largest > 1e15f ? 0x1p-100f : 1.0f;
    Floats lengths = eight(0), z_implicit = eight(0), z_arow = eight(0), variances = eight(0), z_adagrad = eight(0), z_ftrl = eight(0);
    Group* group = groups_.data();
    for (std::size_t g = 0; g < x.groups; ++g, ++group) {
      fetch<L, FeatureTable::second_stride<L>, 0, 4, 5, 6>(x, g, fetching_);
      Floats b[half_floats];
      if constexpr (L != Layout::one_thread) {
        const std::int32_t* const at = x.index_of(g);
#pragma GCC unroll 8
        for (std::size_t j = 0; j < lanes; ++j) group->record[j] = table + FeatureTable::second_stride<L> * at[j];
        gather(group->record, b);
      } else {
        gather<half_floats>(first.records(g), b);  // the second half of the same lines
      }
      const Whole fresh = b[arow_variance] == 0.0f;
      b[implicit_sum] = choose(fresh, eight(first_sum), b[implicit_sum]);
      b[adagrad_sum] = choose(fresh, eight(first_sum), b[adagrad_sum]);
      b[arow_variance] = choose(fresh, eight(1), b[arow_variance]);
      const Floats v = load(x.value_of(g)) * length_scale, square = v * v, u = load(scaled + g * lanes);
      lengths += square;
      z_implicit = fused(b[implicit_w], u, z_implicit);
      z_arow = fused(b[arow_w], v, z_arow);
      variances = fused(b[arow_variance], square, variances);
      z_adagrad = fused(b[adagrad_w], load(rare + g * lanes), z_adagrad);
      z_ftrl = fused(b[ftrl_w], u, z_ftrl);
#pragma GCC unroll 8
      for (std::size_t f = 0; f < half_floats; ++f) store(group->at[f], b[f]);
    }
    // Norms factor out of the sums of their views.
    const double length_norm = 1 / std::sqrt(static_cast<double>(sum(lengths)));
    confidence_ = length_norm * length_norm * sum(variances);
    to_length_ = static_cast<float>(length_norm) * length_scale;
    double* const scores = block.scores(r);
    scores[implicit] = block.norm(r) * sum(z_implicit);
    scores[arow] = length_norm * sum(z_arow);
    scores[adagrad] = block.rarity_norm(r) * sum(z_adagrad);
    scores[ftrl] = sum(z_ftrl);
  }

  // What each place of the row that was scored last adds to the scores.
  void explain(const Row& x, Block& block, std::size_t r, Parts& to) const {
    const float *scaled = block.scaled(r), *rare = block.rare(r);
    const auto value = [&x](std::size_t place) { return static_cast<double>(x.value_of(place / lanes)[place % lanes]); };
    double lengths = 0;
    for (std::size_t place = 0; place <= x.size; ++place) lengths += value(place) * value(place);
    const double length = std::sqrt(lengths);
    for (std::size_t place = 0; place <= x.size; ++place) {
      const auto weight = [&](std::size_t field) { return static_cast<double>(groups_[place / lanes].at[field][place % lanes]); };
      const double u = scaled[place];
      to.of(place, implicit) = weight(implicit_w) * u * block.norm(r);
      to.of(place, arow) = weight(arow_w) * (value(place) / length);
      to.of(place, adagrad) = weight(adagrad_w) * static_cast<double>(rare[place]) * block.rarity_norm(r);
      to.of(place, ftrl) = weight(ftrl_w) * u;
    }
  }

  // Learn the row that was scored last.
  template <Layout L>
  void learn(const Row& x, [[maybe_unused]] const FirstMembers& first, Block& block, std::size_t r) {
    const double y = block.label[r], weight = block.weight[r], *scores = block.scores(r);
    const Numbers<Four> surprise = numbers(sigmoid(four(scores[implicit], scores[adagrad], scores[ftrl], 0) * -y));  // σ(−y·score)
    const auto norm = static_cast<float>(block.norm(r));
    const float implicit_gradient = static_cast<float>(surprise.at[0]) * norm;
    const float by_adagrad = static_cast<float>(y * surprise.at[1] * weight) * static_cast<float>(block.rarity_norm(r));
    const auto by_ftrl = static_cast<float>(y * surprise.at[2] * weight);
    const double short_of = 1 - y * scores[arow];
    const float shrink = short_of > 0 ? static_cast<float>(1 / (confidence_ + .03)) : 0;
    constexpr double largest_step = 1e36;  // float32 ends at 3.4e38
    const float by_arow = short_of > 0 ? static_cast<float>(y * smaller(short_of * weight, largest_step)) * shrink : 0;
    const float *scaled = block.scaled(r), *rare = block.rare(r);
    // First what the implicit step needs: how far a step of 1 moves the score, D = Σx²/√G.
    Floats reach = eight(0);
    Group* group = groups_.data();
    for (std::size_t g = 0; g < x.groups; ++g, ++group) {
      fetch<L, FeatureTable::second_stride<L>, 4, 6, 6, 7>(x, g, fetching_);
      const auto old = [&](std::size_t field) __attribute__((always_inline)) { return load(group->at[field]); };
      const Floats u = load(scaled + g * lanes), of_unit = u * norm, gradient = u * implicit_gradient;
      const Floats squares = fused(gradient, gradient, old(implicit_sum)), step = of_unit / root(squares);
      store(group->at[implicit_sum], squares);
      store(group->step, step);
      reach = fused(of_unit, step, reach);
    }
    const double h = implicit_root(y * scores[implicit], static_cast<double>(sum(reach)), surprise.at[0]);
    const auto by_implicit = static_cast<float>(2 * y * h * weight);
    group = groups_.data();
    for (std::size_t g = 0; g < x.groups; ++g, ++group) {
      fetch<L, FeatureTable::second_stride<L>, 6, 8, 7, 8>(x, g, fetching_);
      const auto old = [&](std::size_t field) __attribute__((always_inline)) { return load(group->at[field]); };
      Floats b[half_floats];
      const Floats certain = old(arow_variance) * (load(x.value_of(g)) * to_length_);
      b[arow_w] = clip(fused(certain, by_arow, old(arow_w)), largest_weight);
      b[arow_variance] = fused_away(certain * shrink, certain, old(arow_variance));
      const Floats of_ftrl = load(scaled + g * lanes) * by_ftrl, total = fused(of_ftrl, of_ftrl, old(ftrl_sum));
      b[ftrl_w] = old(ftrl_w) + (of_ftrl * 0.3f) / (0.3f + root(total));
      b[ftrl_sum] = total;
      const Floats of_rare = load(rare + g * lanes) * by_adagrad;
      b[adagrad_sum] = fused(of_rare, of_rare, old(adagrad_sum));
      b[adagrad_w] = old(adagrad_w) + of_rare / root(b[adagrad_sum]);
      b[implicit_sum] = old(implicit_sum);
      b[implicit_w] = fused(load(group->step), by_implicit, old(implicit_w));
      if constexpr (L != Layout::one_thread)
        scatter(b, group->record);
      else
        scatter<half_floats>(b, first.records(g));
    }
  }

 private:
  struct alignas(32) Group {
    float at[half_floats][lanes];
    float step[lanes];
    float* record[lanes];
  };

  // h with h = σ(−(margin + 2·reach·h)), by at most four Newton steps from σ(−margin).
  static double implicit_root(double margin, double reach, double h) {
    for (int step = 0; step < 4; ++step) {
      const double e = sigmoid(-(margin + 2 * reach * h)), by = (h - e) / (1 + 2 * reach * e * (1 - e));
      h -= by;
      if (std::fabs(by) <= 1e-4 * h) break;  // the next step would be about 1e-8
    }
    return h;
  }

  // Of the row that was scored last.
  Fetching fetching_{};
  std::vector<Group> groups_;
  float to_length_ = 1;
  double confidence_ = 0;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
