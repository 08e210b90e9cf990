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
  static constexpr std::size_t scored_fields = cell_count + 1;  // the first fields, which scores depend on
  ClassCells<cell_fields, scored_fields> cells;
  Table<FeatureRecord> records;

  explicit FeatureMembers(std::size_t most_dense) : cells(most_dense) { resize(0); }

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
    if (cells.dense())
      score_dense(x, views, priors, z);
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
      cells.each(owner_of(x, q), [&](std::int32_t label, auto number) {
        const auto k = static_cast<std::size_t>(label);
        for (std::size_t f = 0; f < linear_fields; ++f)
          to.of(q, linear_member[f], k) = static_cast<double>(number(f)) * static_cast<double>(view[f]);
        to.of(q, eg, k) *= .5;
        if (!feature) return;
        const Evidence<Half> e(every<Half>(number(cell_count)), v, q, {every<Half>(priors.share[k]), every<Half>(priors.rest[k]), every<Half>(priors.narrow_logit[k])});
        to.of(q, bayes, k) = shrink * static_cast<double>(e.for_bayes[0]);
        fourth[k] = static_cast<double>(e.fourth[0]), to.of(q, list, k) = static_cast<double>(e.fifth[0]);
      });
      for (std::size_t k = 0; feature && k < classes; ++k) fourths[k] += fourth[k];
    }
    for (std::size_t k = 0; k < classes; ++k) {
      for (std::size_t q = 0; q < x.size; ++q) to.of(q, list, k) = fourths[k] > 1e-9 ? to.of(q, list, k) / fourths[k] : 0;
      to.of(x.size, bayes, k) = priors.log_share[k], to.of(x.size, list, k) = priors.logit[k];
    }
  }

  // Allocate memory for what `learn` adds.
  void make_room(const ClassRow& x, std::size_t classes) {
    cells.set_classes(classes);
    cells.make_room(x.size + 1);
    at_.resize(x.size + 1);
    for (auto* steps : {&implicit_steps_, &hinge_steps_}) steps->resize((x.size + 1) * most_active);
    if (gathered_.size() < x.size + 1 && !cells.dense()) gathered_.resize(x.size + 1);
  }

  // Learn the row that was scored last.
  void learn(const ClassRow& x, const Views& views, const Active& active, const ActivePlaces& places, std::size_t classes, double weight) {
    const std::size_t all_places = x.size + 1;
    for (std::size_t q = 0; q < all_places; ++q) {
      const std::size_t owner = owner_of(x, q);
      if (cells.dense()) {
        at_[q] = cells.few->make(owner, classes);
      } else {
        gathered_[q].gather(*cells.many, owner, active, places);
        at_[q] = gathered_[q].record;
      }
    }
    const Shape shape = cells.shape();
    FeatureSteps steps(active, weight);
    Layout::each_part(shape, [&](auto part) { first_pass(views, part, steps); });
    steps.finish(active, weight);
    Layout::each_part(shape, [&](auto part) { second_pass(views, part, steps); });
    const std::size_t count = Layout::at(shape, cell_count, active.label);
    for (std::size_t q = 0; q < x.size; ++q) at_[q][count] += static_cast<float>(weight);
    if (!cells.dense())
      for (std::size_t q = 0; q < all_places; ++q) gathered_[q].scatter(active);
    Views::learn(x, records.data(), weight);
  }

 private:
  using Layout = Record<cell_fields, scored_fields>;
  using Block = Cells<cell_fields>::Block;
  static constexpr std::size_t scored_lines = scored_fields / 2;           // of a block, two fields each
  static constexpr std::size_t lines = sizeof(Block) / 64, ahead = 2;      // how many blocks earlier a block is fetched
  static constexpr std::size_t sum_width = 12;                             // places for the sums of a class

  static std::size_t owner_of(const ClassRow& x, std::size_t q) { return q < x.size ? x.owner[q] : constant_owner; }

  // Shares of classes, as Priors has them.
  template <class V>
  struct Shares {
    V share, rest, logit;
  };
  // What a feature says about some classes, for naive Bayes and for the decision list.
  template <class V>
  struct Evidence {
    V for_bayes, fourth, fifth;
    MISTAKEBOUND_INLINE Evidence(V had, const Views& v, std::size_t q, const Shares<V>& of) {
      const V e = had + of.share;
      for_bayes = ln(e / of.share) * __builtin_fabsf(v.scaled[q]);
      set(choose(had > 0.0f, ln(e / (most(v.count[q] - had, every<V>(0)) + of.rest)) - of.logit, every<V>(v.absence[q])));
    }
    // None of the classes had the feature: the same numbers, without logarithms.
    MISTAKEBOUND_INLINE explicit Evidence(float absence) : for_bayes(every<V>(0)) { set(every<V>(absence)); }
    static MISTAKEBOUND_INLINE Evidence of(V had, const Views& v, std::size_t q, const Shares<V>& of) {
      if (places(had > 0.0f) == 0) return Evidence(v.absence[q]);
      return Evidence(had, v, q, of);
    }

   private:
    MISTAKEBOUND_INLINE void set(V r) {
      const V square = r * r;
      fourth = square * square;
      fifth = fourth * r;
    }
  };
  // The member of each linear field, and the view that it learns from.
  static constexpr Member linear_member[linear_fields] = {coin, implicit, hinge, eg, arow, adagrad, ftrl, sgd, winnow};
  static MISTAKEBOUND_INLINE std::array<float, linear_fields> linear_views(const Views& v, std::size_t q) {
    const float n = v.of_unit[q], u = v.scaled[q];
    return {n, n, n, n, v.of_length[q], v.of_rarity[q], u, u, u};
  }

  void score_dense(const ClassRow& x, const Views& v, const Priors& priors, ClassScores& z) {
    fourths_.resize(z.stride()), fifths_.resize(z.stride());
    at_.resize(x.size + 1);
    const Shape shape = cells.shape();
    const std::size_t lines_of_scores = Layout::scored_lines(shape);
    for (std::size_t q = 0; q <= x.size; ++q) {
      at_[q] = cells.few->find(owner_of(x, q));
      fetch(at_[q], 0, lines_of_scores);
    }
    Layout::each_part(shape, [&](auto part) { score_part(v, priors, part, z); });
  }
  template <std::size_t Lanes>
  void score_part(const Views& v, const Priors& priors, Part<Lanes> part, ClassScores& z) {
    using V = Vector<Lanes>;
    V sum[linear_fields];
#pragma GCC unroll 9
    for (std::size_t f = 0; f < linear_fields; ++f) sum[f] = V{};
    for (std::size_t q = 0; q <= v.size; ++q) {
      const float* const record = at_[q] + part.scored;
      const auto view = linear_views(v, q);
#pragma GCC unroll 9
      for (std::size_t f = 0; f < linear_fields; ++f) sum[f] = sum[f] + load_part<Lanes>(record + f * Lanes) * view[f];
    }
    for (std::size_t f = 0; f < linear_fields; ++f) store_part<Lanes>(z.of(linear_member[f]) + part.first, sum[f]);
    const auto of = [&part](const std::vector<float>& values) { return load_part<Lanes>(values.data() + part.first); };
    const Shares<V> shares{of(priors.share), of(priors.rest), of(priors.narrow_logit)};
    V of_bayes{}, fourths{}, fifths{};
    for (std::size_t q = 0; q < v.size; ++q) {
      const auto e = Evidence<V>::of(load_part<Lanes>(at_[q] + Layout::at(part, cell_count)), v, q, shares);
      of_bayes = of_bayes + e.for_bayes, fourths = fourths + e.fourth, fifths = fifths + e.fifth;
    }
    store_part<Lanes>(z.of(bayes) + part.first, of_bayes);
    store_part<Lanes>(fourths_.data() + part.first, fourths);
    store_part<Lanes>(fifths_.data() + part.first, fifths);
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
      for (std::uint32_t at = cells.many->first(owner_of(x, q)); at != 0; at = cells.many->next(at)) chain_.push_back(cells.many->block(at));
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
    const auto e = Evidence<Floats>::of(load(cell.at[cell_count]), v, q, {load(share), load(rest), load(logit)});
    store(last, e.for_bayes), store(fourth, e.fourth), store(fifth, e.fifth);
    for (std::size_t j = 0; j < here; ++j)
      sums_[label[j] * sum_width + linear_fields] += last[j], fourth_[label[j]] = fourth[j], fifth_[label[j]] = fifth[j];
  }

  // AdaGrad's sums of the implicit and the hinge member, and how far a step of 1 moves their scores and that of AROW.
  template <std::size_t Lanes>
  void first_pass(const Views& v, Part<Lanes> part, FeatureSteps& steps) {
    using V = Vector<Lanes>;
    const V surprise = load_part<Lanes>(steps.surprise + part.first), within = load_part<Lanes>(steps.within + part.first);
    const bool hinge_learns = some(within);
    V reach{}, hinge_reach{}, confidence{};
    for (std::size_t q = 0; q <= v.size; ++q) {
      const auto field = [&](std::size_t f) __attribute__((always_inline)) { return at_[q] + Layout::at(part, f); };
      const float x = v.of_unit[q], l = v.of_length[q];
      const V gradient = surprise * x, total = load_part<Lanes>(field(cell_implicit_sum)) + gradient * gradient;
      store_part<Lanes>(field(cell_implicit_sum), total);
      const V step = x / root(total + first_sum);
      reach = reach + step * x;
      store_part<Lanes>(implicit_steps_.data() + q * most_active + part.first, step);
      confidence = confidence + variance(load_part<Lanes>(field(cell_arow_variance))) * (l * l);
      if (!hinge_learns) continue;
      const V hinge_total = load_part<Lanes>(field(cell_hinge_sum)) + within * (x * x), hinge_step = x / root(hinge_total + first_sum);
      store_part<Lanes>(field(cell_hinge_sum), hinge_total);
      hinge_reach = hinge_reach + hinge_step * x;
      store_part<Lanes>(hinge_steps_.data() + q * most_active + part.first, hinge_step);
    }
    store_part<Lanes>(steps.reach + part.first, reach);
    store_part<Lanes>(steps.hinge_reach + part.first, hinge_reach);
    store_part<Lanes>(steps.confidence + part.first, confidence);
  }

  // Whether a member learns any of the classes: not all factors are 0.
  template <class V>
  static bool some(V factors) { return places(size(factors) > 0.0f) != 0; }
  template <class V>
  static MISTAKEBOUND_INLINE V variance(V kept) { return choose(kept == 0.0f, every<V>(1), kept); }

  template <std::size_t Lanes>
  void second_pass(const Views& v, Part<Lanes> part, const FeatureSteps& steps) {
    using V = Vector<Lanes>;
    const auto of = [&part](const float* values) __attribute__((always_inline)) { return load_part<Lanes>(values + part.first); };
    const V live = of(steps.live), by_coin = of(steps.coin), by_implicit = of(steps.implicit), by_hinge = of(steps.hinge),
            by_arow = of(steps.arow), shrink = of(steps.shrink), by_adagrad = of(steps.adagrad), by_ftrl = of(steps.ftrl),
            by_sgd = of(steps.sgd), by_winnow = of(steps.winnow), by_eg = of(steps.eg);
    const bool hinge_learns = some(by_hinge), arow_learns = some(shrink), winnow_learns = some(by_winnow);
    for (std::size_t q = 0; q <= v.size; ++q) {
      float *const scored = at_[q] + part.scored, *const others = at_[q] + part.others;
      const auto at = [=](std::size_t f) __attribute__((always_inline)) { return f < scored_fields ? scored + f * Lanes : others + (f - scored_fields) * Lanes; };
      const auto old = [=](std::size_t f) __attribute__((always_inline)) { return load_part<Lanes>(at(f)); };
      const auto set = [=](std::size_t f, V value) __attribute__((always_inline)) { store_part<Lanes>(at(f), value); };
      const float x = v.of_unit[q], l = v.of_length[q], i = v.of_rarity[q], u = v.scaled[q];
      Coin<V> coin_of{old(cell_coin_w), old(cell_coin_sum), old(cell_coin_size), old(cell_coin_reward), old(cell_coin_most)};
      coin_of.learn(by_coin * x, live * (.5f * __builtin_fabsf(x)));
      set(cell_coin_w, coin_of.w), set(cell_coin_sum, coin_of.sum), set(cell_coin_size, coin_of.size_of);
      set(cell_coin_reward, coin_of.reward), set(cell_coin_most, coin_of.most_bet);
      set(cell_implicit_w, old(cell_implicit_w) + by_implicit * of(implicit_steps_.data() + q * most_active));
      if (hinge_learns) set(cell_hinge_w, old(cell_hinge_w) + by_hinge * of(hinge_steps_.data() + q * most_active));
      if (arow_learns) {
        const V kept = old(cell_arow_variance), certain = variance(kept) * l;
        set(cell_arow_w, clip(old(cell_arow_w) + by_arow * certain, largest_weight));
        set(cell_arow_variance, choose(shrink > 0.0f, most(variance(kept) - (shrink * certain) * certain, every<V>(1e-30f)), kept));
      }
      const V of_rare = by_adagrad * i, rare_total = old(cell_adagrad_sum) + of_rare * of_rare;
      set(cell_adagrad_sum, rare_total);
      set(cell_adagrad_w, old(cell_adagrad_w) + of_rare / root(rare_total + first_sum));
      const V of_ftrl = by_ftrl * u, total = old(cell_ftrl_sum) + of_ftrl * of_ftrl;
      set(cell_ftrl_sum, total);
      set(cell_ftrl_w, old(cell_ftrl_w) + (of_ftrl * .3f) / (.3f + root(total)));
      set(cell_sgd_w, old(cell_sgd_w) + by_sgd * u);
      if (winnow_learns) set(cell_winnow_w, clip(steps.sinh_of(old(cell_winnow_w), by_winnow * u), winnow_limit));
      set(cell_eg_w, clip(steps.sinh_of(old(cell_eg_w), by_eg * x), eg_limit));
    }
  }
  static constexpr float winnow_limit = 5.343e12f, eg_limit = 242582597.7f;  // sinh 30 and sinh 20

  // Of the row that was scored last.
  std::vector<float*> at_;  // the record of each place
  std::vector<GatheredCells<cell_fields, scored_fields>> gathered_;
  std::vector<float> fourths_, fifths_, fourth_, fifth_, sums_, implicit_steps_, hinge_steps_;
  std::vector<const Block*> chain_;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
