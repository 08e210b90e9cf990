// The members that learn from single features: linear members with a weight for each feature and class, naive Bayes and the
// decision list. Eight classes are worked on at the same time.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/table.hpp"
#include "panel/classes/active_cells.hpp"
#include "panel/classes/feature_steps.hpp"
#include "panel/classes/priors.hpp"
#include "panel/classes/views.hpp"
#include "panel/parts.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class FeatureMembers {
 public:
  using Block = Cells<cell_fields>::Block;

  Cells<cell_fields> cells;
  Table<FeatureRecord> records;

  explicit FeatureMembers(std::size_t most_dense) : most_dense_(most_dense) { resize(0); }

  std::size_t features() const { return records.size() - before_owners; }
  void reserve(std::size_t features) {
    records.reserve(features + before_owners);
    cells.reserve_owners(features + before_owners);
  }
  void resize(std::size_t features) {
    records.resize(features + before_owners);
    cells.resize(features + before_owners);
  }

  void score(const ClassRow& x, const Views& views, const Priors& priors, std::size_t classes, ClassScores& z) {
    if (classes <= most_dense_)
      score_dense(x, views, priors, classes, z);
    else
      score_sparse(x, views, priors, classes, z);
    const double shrink = 1 / std::max(1.0, static_cast<double>(x.size) / 24);
    for (std::size_t k = 0; k < classes; ++k) {
      z.of(bayes)[k] = static_cast<float>(static_cast<double>(z.of(bayes)[k]) * shrink + priors.log_share[k]);
      const double fourth = fourths_[k];
      z.of(list)[k] = static_cast<float>(priors.logit[k] + (fourth > 1e-9 ? static_cast<double>(fifths_[k]) / fourth : 0));
      z.of(prior)[k] = static_cast<float>(priors.log_share[k]);
    }
    for (std::size_t k = 0; k < classes; ++k) z.of(eg)[k] *= .5f;
  }

  // What each place of the row that was scored last adds to the scores.
  void explain(const ClassRow& x, const Views& v, const Priors& priors, std::size_t classes, Parts& to) const {
    const double shrink = 1 / std::max(1.0, static_cast<double>(x.size) / 24);
    std::vector<double> fourths(classes), fourth(classes);
    for (std::size_t q = 0; q <= x.size; ++q) {
      const auto view = linear_views(v, q);
      const bool feature = q < x.size;
      if (feature) {
        const float square = v.absence[q] * v.absence[q];
        std::fill(fourth.begin(), fourth.end(), square * square);
        for (std::size_t k = 0; k < classes; ++k) to.of(q, list, k) = static_cast<double>(square * square * v.absence[q]);
      }
      cells.each(owner_of(x, q), [&](std::int32_t label, const Block& cell, std::size_t j) {
        const auto k = static_cast<std::size_t>(label);
        for (std::size_t f = 0; f < linear_fields; ++f)
          to.of(q, linear_member[f], k) = static_cast<double>(cell.at[f][j]) * static_cast<double>(view[f]);
        to.of(q, eg, k) *= .5;
        if (!feature) return;
        const Evidence e(eight(cell.at[cell_count][j]), v.scaled[q], v.count[q], v.absence[q], eight(priors.share[k]), eight(priors.rest[k]),
                         eight(priors.narrow_logit[k]));
        to.of(q, bayes, k) = shrink * static_cast<double>(first_of(e.for_bayes));
        fourth[k] = static_cast<double>(first_of(e.fourth)), to.of(q, list, k) = static_cast<double>(first_of(e.fifth));
      });
      for (std::size_t k = 0; feature && k < classes; ++k) fourths[k] += fourth[k];
    }
    for (std::size_t k = 0; k < classes; ++k) {
      for (std::size_t q = 0; q < x.size; ++q) to.of(q, list, k) = fourths[k] > 1e-9 ? to.of(q, list, k) / fourths[k] : 0;
      to.of(x.size, bayes, k) = priors.log_share[k], to.of(x.size, list, k) = priors.logit[k];
    }
  }

  // Allocate memory for what `learn` adds.
  void make_room(const ClassRow& x) {
    cells.reserve((x.size + 1) * (most_blocks_of_row + 1));
    at_.resize((x.size + 1) * most_blocks_of_row);
    for (auto* steps : {&implicit_steps_, &hinge_steps_}) steps->resize((x.size + 1) * most_active);
    if (gathered_.size() < x.size + 1 && !dense_) gathered_.resize(x.size + 1);
  }
  // Whether the next row is learned by copies of records.
  void set_classes(std::size_t classes) { dense_ = classes <= most_dense_; }

  // Learn the row that was scored last.
  void learn(const ClassRow& x, const Views& views, const Active& active, const ActivePlaces& places, std::size_t classes, double weight) {
    const std::size_t all_places = x.size + 1;
    for (std::size_t q = 0; q < all_places; ++q) {
      const std::size_t owner = owner_of(x, q);
      Block** const to = at_.data() + q * most_blocks_of_row;
      if (dense_) {
        complete_blocks(cells, owner, classes, to);
      } else {
        gathered_[q].gather(cells, owner, active, places);
        for (std::size_t b = 0; b < most_blocks_of_row; ++b) to[b] = gathered_[q].blocks + b;
      }
    }
    FeatureSteps steps(active, weight);
    for (std::size_t b = 0; b < active.blocks(); ++b) first_pass(views, b, steps);
    steps.finish(active, weight);
    for (std::size_t b = 0; b < active.blocks(); ++b) second_pass(views, b, steps);
    for (std::size_t q = 0; q < x.size; ++q)
      at_[q * most_blocks_of_row + active.label / lanes]->at[cell_count][active.label % lanes] += static_cast<float>(weight);
    if (!dense_)
      for (std::size_t q = 0; q < all_places; ++q) gathered_[q].scatter(active);
    Views::learn(x, records.data(), weight);
  }

 private:
  static constexpr std::size_t scored_lines = (cell_count + 1) / 2;  // of a block: those that scores depend on, two fields each
  static constexpr std::size_t lines = sizeof(Block) / 64, ahead = 2;  // how many blocks earlier a block is fetched
  static constexpr std::size_t sum_width = 12;                         // places for the sums of a class

  static std::size_t owner_of(const ClassRow& x, std::size_t q) { return q < x.size ? x.owner[q] : constant_owner; }

  static float first_of(Floats eight_of) {
    float at[lanes];
    store(at, eight_of);
    return at[0];
  }
  // What a feature says about eight classes, for naive Bayes and for the decision list.
  struct Evidence {
    Floats for_bayes, fourth, fifth;
    MISTAKEBOUND_INLINE Evidence(Floats had, float u, float count, float absence, Floats share, Floats rest, Floats logit) {
      const Floats e = had + share;
      for_bayes = ln(e / share) * __builtin_fabsf(u);
      const Floats r = choose(had > 0.0f, ln(e / (most(count - had, eight(0)) + rest)) - logit, eight(absence));
      const Floats square = r * r;
      fourth = square * square;
      fifth = fourth * r;
    }
    // None of the eight classes had the feature: the same numbers, without logarithms.
    MISTAKEBOUND_INLINE explicit Evidence(float absence) : for_bayes(eight(0)) {
      const Floats r = eight(absence), square = r * r;
      fourth = square * square;
      fifth = fourth * r;
    }
    static MISTAKEBOUND_INLINE Evidence of(const Block& cell, const Views& v, std::size_t q, Floats share, Floats rest, Floats logit) {
      const Floats had = load(cell.at[cell_count]);
      if (places(had > 0.0f) == 0) return Evidence(v.absence[q]);
      return Evidence(had, v.scaled[q], v.count[q], v.absence[q], share, rest, logit);
    }
  };
  // The member of each linear field, and the view that it learns from.
  static constexpr Member linear_member[linear_fields] = {coin, implicit, hinge, eg, arow, adagrad, ftrl, sgd, winnow};
  static MISTAKEBOUND_INLINE std::array<float, linear_fields> linear_views(const Views& v, std::size_t q) {
    const float n = v.of_unit[q], u = v.scaled[q];
    return {n, n, n, n, v.of_length[q], v.of_rarity[q], u, u, u};
  }

  void score_dense(const ClassRow& x, const Views& v, const Priors& priors, std::size_t classes, ClassScores& z) {
    fourths_.resize(z.stride()), fifths_.resize(z.stride());
    at_.resize((x.size + 1) * most_blocks_of_row);
    for (std::size_t q = 0; q <= x.size; ++q) {
      Block** const to = at_.data() + q * most_blocks_of_row;
      find_blocks(cells, owner_of(x, q), classes, to);
      for (std::size_t b = 0; b * lanes < classes; ++b) fetch<0, scored_lines>(to[b]);
    }
    for (std::size_t b = 0; b * lanes < classes; ++b) {
      Floats sum[linear_fields];
#pragma GCC unroll 9
      for (std::size_t f = 0; f < linear_fields; ++f) sum[f] = eight(0);
      for (std::size_t q = 0; q <= x.size; ++q) {
        const Block& cell = *at_[q * most_blocks_of_row + b];
        const auto view = linear_views(v, q);
#pragma GCC unroll 9
        for (std::size_t f = 0; f < linear_fields; ++f) sum[f] = sum[f] + load(cell.at[f]) * view[f];
      }
      for (std::size_t f = 0; f < linear_fields; ++f) store(z.of(linear_member[f]) + b * lanes, sum[f]);
      const Floats share = load(priors.share.data() + b * lanes), rest = load(priors.rest.data() + b * lanes),
                   logit = load(priors.narrow_logit.data() + b * lanes);
      Floats of_bayes = eight(0), fourths = eight(0), fifths = eight(0);
      for (std::size_t q = 0; q < x.size; ++q) {
        const auto e = Evidence::of(*at_[q * most_blocks_of_row + b], v, q, share, rest, logit);
        of_bayes = of_bayes + e.for_bayes, fourths = fourths + e.fourth, fifths = fifths + e.fifth;
      }
      store(z.of(bayes) + b * lanes, of_bayes);
      store(fourths_.data() + b * lanes, fourths);
      store(fifths_.data() + b * lanes, fifths);
    }
  }

  // Many classes: the records of a feature are in any order, so sums are kept class by class: eight linear members, then the ninth
  // and naive Bayes.
  void score_sparse(const ClassRow& x, const Views& v, const Priors& priors, std::size_t classes, ClassScores& z) {
    const std::size_t stride = z.stride();
    fourths_.assign(stride, 0), fifths_.assign(stride, 0), fourth_.resize(stride), fifth_.resize(stride);
    sums_.assign(classes * sum_width, 0);
    for (std::size_t q = 0; q <= x.size; ++q) {
      const bool feature = q < x.size;
      if (feature) {
        const float square = v.absence[q] * v.absence[q], fourth = square * square;
        std::fill_n(fourth_.data(), classes, fourth);
        std::fill_n(fifth_.data(), classes, fourth * v.absence[q]);
      }
      chain_.clear();
      for (std::uint32_t at = cells.first(owner_of(x, q)); at != 0; at = cells.next(at)) chain_.push_back(cells.block(at));
      for (std::size_t k = 0; k < chain_.size(); ++k) {
        if (k + ahead < chain_.size()) fetch<0, scored_lines>(chain_[k + ahead]), fetch<lines - 1, lines>(chain_[k + ahead]);
        add_block(*chain_[k], v, q, priors, feature);
      }
      if (!feature) continue;
      for (std::size_t k = 0; k < classes; ++k) fourths_[k] += fourth_[k], fifths_[k] += fifth_[k];
    }
    for (std::size_t f = 0; f < linear_fields; ++f) {
      float* const to = z.of(linear_member[f]);
      for (std::size_t k = 0; k < classes; ++k) to[k] = sums_[k * sum_width + f];
    }
    for (std::size_t k = 0; k < classes; ++k) z.of(bayes)[k] = sums_[k * sum_width + linear_fields];
  }
  void add_block(const Block& cell, const Views& v, std::size_t q, const Priors& priors, bool feature) {
    const auto view = linear_views(v, q);
    std::size_t label[lanes], here = 0;
    for (; here < lanes && cell.of[here] != 0; ++here) label[here] = static_cast<std::size_t>(cell.of[here] - 1);
    Floats part[lanes];
#pragma GCC unroll 8
    for (std::size_t f = 0; f < lanes; ++f) part[f] = load(cell.at[f]) * view[f];
    alignas(32) float of_class[lanes][lanes], last[lanes];
    float* const records_of[lanes] = {of_class[0], of_class[1], of_class[2], of_class[3], of_class[4], of_class[5], of_class[6], of_class[7]};
    scatter(part, records_of);
    static_assert(linear_fields == lanes + 1);
    store(last, load(cell.at[lanes]) * view[lanes]);
    for (std::size_t j = 0; j < here; ++j) {
      float* const to = sums_.data() + label[j] * sum_width;
      store(to, load(to) + load(of_class[j]));
      to[lanes] += last[j];
    }
    if (!feature) return;
    float share[lanes], rest[lanes], logit[lanes], fourth[lanes], fifth[lanes];
    for (std::size_t j = 0; j < lanes; ++j) {
      const std::size_t k = j < here ? label[j] : 0;
      share[j] = priors.share[k], rest[j] = priors.rest[k], logit[j] = priors.narrow_logit[k];
    }
    const auto e = Evidence::of(cell, v, q, load(share), load(rest), load(logit));
    store(last, e.for_bayes), store(fourth, e.fourth), store(fifth, e.fifth);
    for (std::size_t j = 0; j < here; ++j)
      sums_[label[j] * sum_width + linear_fields] += last[j], fourth_[label[j]] = fourth[j], fifth_[label[j]] = fifth[j];
  }

  // AdaGrad's sums of the implicit and the hinge member, and how far a step of 1 moves their scores and that of AROW.
  void first_pass(const Views& v, std::size_t b, FeatureSteps& steps) {
    for (std::size_t q = 0; q <= v.size; ++q) fetch<scored_lines, lines>(at_[q * most_blocks_of_row + b]);
    const Floats surprise = load(steps.surprise + b * lanes), within = load(steps.within + b * lanes);
    const bool hinge_learns = some(steps.within + b * lanes);
    Floats reach = eight(0), hinge_reach = eight(0), confidence = eight(0);
    for (std::size_t q = 0; q <= v.size; ++q) {
      Block& cell = *at_[q * most_blocks_of_row + b];
      const float x = v.of_unit[q], l = v.of_length[q];
      const Floats gradient = surprise * x, total = load(cell.at[cell_implicit_sum]) + gradient * gradient;
      store(cell.at[cell_implicit_sum], total);
      const Floats step = x / root(total + first_sum);
      reach = reach + step * x;
      store(implicit_steps_.data() + q * most_active + b * lanes, step);
      confidence = confidence + variance(load(cell.at[cell_arow_variance])) * (l * l);
      if (!hinge_learns) continue;
      const Floats hinge_total = load(cell.at[cell_hinge_sum]) + within * (x * x), hinge_step = x / root(hinge_total + first_sum);
      store(cell.at[cell_hinge_sum], hinge_total);
      hinge_reach = hinge_reach + hinge_step * x;
      store(hinge_steps_.data() + q * most_active + b * lanes, hinge_step);
    }
    store(steps.reach + b * lanes, reach);
    store(steps.hinge_reach + b * lanes, hinge_reach);
    store(steps.confidence + b * lanes, confidence);
  }

  // Whether a member learns any of eight classes: not all factors are 0.
  static bool some(const float* factors) { return places(size(load(factors)) > 0.0f) != 0; }
  static MISTAKEBOUND_INLINE Floats variance(Floats kept) { return choose(kept == 0.0f, eight(1), kept); }

  void second_pass(const Views& v, std::size_t b, const FeatureSteps& steps) {
    const auto of = [b](const float* values) __attribute__((always_inline)) { return load(values + b * lanes); };
    const Floats live = of(steps.live), by_coin = of(steps.coin), by_implicit = of(steps.implicit), by_hinge = of(steps.hinge),
                 by_arow = of(steps.arow), shrink = of(steps.shrink), by_adagrad = of(steps.adagrad), by_ftrl = of(steps.ftrl),
                 by_sgd = of(steps.sgd), by_winnow = of(steps.winnow), by_eg = of(steps.eg);
    const bool hinge_learns = some(steps.hinge + b * lanes), arow_learns = some(steps.shrink + b * lanes), winnow_learns = some(steps.winnow + b * lanes);
    const float *implicit_step = implicit_steps_.data() + b * lanes, *hinge_step = hinge_steps_.data() + b * lanes;
    for (std::size_t q = 0; q <= v.size; ++q) {
      Block& cell = *at_[q * most_blocks_of_row + b];
      const auto old = [&cell](std::size_t f) __attribute__((always_inline)) { return load(cell.at[f]); };
      const auto set = [&cell](std::size_t f, Floats value) __attribute__((always_inline)) { store(cell.at[f], value); };
      const float x = v.of_unit[q], l = v.of_length[q], i = v.of_rarity[q], u = v.scaled[q];
      Coin coin_of{old(cell_coin_w), old(cell_coin_sum), old(cell_coin_size), old(cell_coin_reward), old(cell_coin_most)};
      coin_of.learn(by_coin * x, live * (.5f * __builtin_fabsf(x)));
      set(cell_coin_w, coin_of.w), set(cell_coin_sum, coin_of.sum), set(cell_coin_size, coin_of.size_of);
      set(cell_coin_reward, coin_of.reward), set(cell_coin_most, coin_of.most_bet);
      set(cell_implicit_w, old(cell_implicit_w) + by_implicit * load(implicit_step + q * most_active));
      if (hinge_learns) set(cell_hinge_w, old(cell_hinge_w) + by_hinge * load(hinge_step + q * most_active));
      if (arow_learns) {
        const Floats kept = old(cell_arow_variance), certain = variance(kept) * l;
        set(cell_arow_w, clip(old(cell_arow_w) + by_arow * certain, largest_weight));
        set(cell_arow_variance, choose(shrink > 0.0f, most(variance(kept) - (shrink * certain) * certain, eight(1e-30f)), kept));
      }
      const Floats of_rare = by_adagrad * i, rare_total = old(cell_adagrad_sum) + of_rare * of_rare;
      set(cell_adagrad_sum, rare_total);
      set(cell_adagrad_w, old(cell_adagrad_w) + of_rare / root(rare_total + first_sum));
      const Floats of_ftrl = by_ftrl * u, total = old(cell_ftrl_sum) + of_ftrl * of_ftrl;
      set(cell_ftrl_sum, total);
      set(cell_ftrl_w, old(cell_ftrl_w) + (of_ftrl * .3f) / (.3f + root(total)));
      set(cell_sgd_w, old(cell_sgd_w) + by_sgd * u);
      if (winnow_learns) set(cell_winnow_w, clip(steps.sinh_of(old(cell_winnow_w), by_winnow * u), winnow_limit));
      set(cell_eg_w, clip(steps.sinh_of(old(cell_eg_w), by_eg * x), eg_limit));
    }
  }
  static constexpr float winnow_limit = 5.343e12f, eg_limit = 242582597.7f;  // sinh 30 and sinh 20

  std::size_t most_dense_;
  bool dense_ = true;
  // Of the row that was scored last.
  std::vector<Block*> at_;
  std::vector<GatheredCells<cell_fields>> gathered_;
  std::vector<float> fourths_, fifths_, fourth_, fifth_, sums_, implicit_steps_, hinge_steps_;
  std::vector<const Block*> chain_;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
