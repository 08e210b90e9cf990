// The state of a panel of several classes that continues a panel of two classes, when a third label appears.
//
// The positive class takes each weight, the negative one its opposite; both take sums of sizes and of squares, variances and counts.
// With τ = ½ for two classes, the scores of members then give the same probabilities. Mixers, losses and mistakes carry over. The
// prior is a new member: it starts with the loss of the mixture and the mistakes of the panel, so the bound of the guard holds for
// it, too. The label sequence gets the counts of the last three labels, and their sums for the last two and the last one. The
// probability of a new label starts without evidence for either of its two forms.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "panel/classes/state.hpp"
#include "panel/roster.hpp"
#include "rules/elementary.hpp"

namespace mistakebound::panel {

class FromBinary {
 public:
  // `negative` and `positive` are the classes of the two labels: 0 and 1, or 1 and 0. `rows`: how many rows had each class.
  FromBinary(const PanelState& from, const Roster& roster, std::int32_t negative, std::int32_t positive, const std::array<double, 2>& rows)
      : from_(from), count_(roster.count), width_(count_ <= 12 ? 12 : members), positive_(positive), rows_(rows) {
    if (negative + positive != 1 || negative * positive != 0) throw std::invalid_argument("the classes of the two labels must be 0 and 1");
    const std::size_t combiner = 2 * width_ * (width_ + 2) + width_ + 4 * (width_ + 4) + 5;
    if (roster.has(members) || from.numbers.size() != counts + combiner || from.records.size() != (from.features.size() + 1) * feature_floats ||
        from.slots.size() != slot_floats * from.touched.size())
      throw std::invalid_argument("the state is not that of a panel of two classes without members from outside");
  }

  ClassState state() {
    const float* const constant = from_.records.data() + from_.features.size() * feature_floats;
    add_feature(constant_owner, constant);
    for (std::size_t k = 0; k < from_.features.size(); ++k)
      add_feature(from_.features[k] + before_owners, from_.records.data() + k * feature_floats);
    for (std::size_t k = 0; k < from_.touched.size(); ++k) add_slot(from_.touched[k], from_.slots.data() + k * slot_floats);
    add_numbers();
    it_.leads = from_.leads;
    return std::move(it_);
  }

 private:
  static constexpr std::size_t counts = 3 + 1 + 16;  // of both labels and of rounds, the last labels, and the counts after them

  double number(std::size_t k) const { return from_.numbers[k]; }
  static double whole(float bits) { return static_cast<double>(std::bit_cast<std::int32_t>(bits)); }
  // A count that is not whole is kept as a negative float (floats.hpp).
  static double count(float kept) { return std::signbit(kept) ? -static_cast<double>(kept) : whole(kept); }
  static float without_start(float sum) { return std::max(sum - first_sum, 0.0f); }
  float side(std::int32_t label) const { return label == positive_ ? 1.0f : -1.0f; }

  void add_pair(PairState& to, std::size_t owner) {
    to.owners.push_back(static_cast<std::uint32_t>(owner));
    to.counts.push_back(2);
    to.classes.insert(to.classes.end(), {0, 1});
  }
  void add_feature(std::size_t owner, const float* r) {
    const float *const second = r + half_floats, *const third = second + half_floats, *const moments = third + third_floats;
    add_pair(it_.cells, owner);
    const bool feature = owner != constant_owner;
    it_.features.insert(it_.features.end(), {feature ? r[scale] : 0.0, moments[mean], moments[spread], whole(moments[seen]),
                                             count(r[positives]) + count(r[negatives])});
    const float most_bet = std::max(r[coin_most], least_bet);
    const float bet = std::clamp(r[coin_sum] * (most_bet + r[coin_reward]) / (most_bet * (r[coin_size] + most_bet)), -largest_weight, largest_weight);
    for (const std::int32_t label : {0, 1}) {
      float cell[cell_fields];
      cell[cell_coin_w] = bet, cell[cell_implicit_w] = second[implicit_w], cell[cell_hinge_w] = third[hinge_w], cell[cell_eg_w] = r[eg_w];
      cell[cell_arow_w] = second[arow_w], cell[cell_adagrad_w] = second[adagrad_w], cell[cell_ftrl_w] = second[ftrl_w];
      cell[cell_sgd_w] = third[sgd_w], cell[cell_winnow_w] = third[winnow_w], cell[cell_coin_sum] = r[coin_sum];
      for (std::size_t f = 0; f < linear_fields; ++f) cell[f] *= side(label);
      cell[cell_coin_sum] *= side(label);
      cell[cell_count] = static_cast<float>(count(r[label == positive_ ? positives : negatives]));
      cell[cell_coin_size] = r[coin_size], cell[cell_coin_reward] = r[coin_reward], cell[cell_coin_most] = r[coin_most];
      cell[cell_implicit_sum] = without_start(second[implicit_sum]), cell[cell_hinge_sum] = without_start(third[hinge_sum]);
      cell[cell_arow_variance] = second[arow_variance], cell[cell_adagrad_sum] = without_start(second[adagrad_sum]);
      cell[cell_ftrl_sum] = second[ftrl_sum];
      it_.cells.values.insert(it_.cells.values.end(), cell, cell + cell_fields);
    }
  }
  void add_slot(std::size_t slot, const float* from) {
    add_pair(it_.slots, slot);
    for (const std::int32_t label : {0, 1}) {
      float to[slot_fields];
      std::copy_n(from, slot_fields, to);
      for (const SlotField f : {slot_coin_w, slot_adagrad_w, slot_coin_sum}) to[f] *= side(label);
      to[slot_adagrad_sum] = without_start(to[slot_adagrad_sum]);
      it_.slots.values.insert(it_.slots.values.end(), to, to + slot_fields);
    }
  }

  void add_numbers() {
    const double pluses = number(0) - 1, minuses = number(1) - 1;  // both sums of weights start at 1
    it_.numbers.push_back(pluses + minuses);
    const auto last = static_cast<unsigned>(number(3));
    const auto labels_of = [&](unsigned bits) {
      LastLabels labels{};
      for (std::size_t k = 0; k < context_orders; ++k) labels[k] = static_cast<double>((bits >> k & 1U) != 0 ? positive_ : 1 - positive_) + 1;
      return labels;
    };
    const auto now = labels_of(last);
    it_.numbers.insert(it_.numbers.end(), now.begin(), now.end());
    add_contexts(labels_of);
    add_combiner();
    const double once = (rows_[0] == 1 ? 1 : 0) + (rows_[1] == 1 ? 1 : 0);
    it_.numbers.insert(it_.numbers.end(), {rows_[0] + rows_[1], once, 0.0, 0.0});
    for (const std::int32_t label : {0, 1}) {
      const double had = label == positive_ ? pluses : minuses;
      it_.numbers.insert(it_.numbers.end(), {had, rows_[static_cast<std::size_t>(label)]});
    }
  }
  template <class LabelsOf>
  void add_contexts(LabelsOf labels_of) {
    std::map<std::size_t, std::array<double, 2>> rows;  // of each context, by class
    for (unsigned bits = 0; bits < 8; ++bits)
      for (const std::size_t at : contexts_of(labels_of(bits))) {
        rows[at][static_cast<std::size_t>(positive_)] += number(4 + bits);
        rows[at][static_cast<std::size_t>(1 - positive_)] += number(12 + bits);
      }
    for (auto& [at, of] : rows) {
      if (of[0] + of[1] == 0) continue;
      while (of[0] + of[1] > 250) of[0] *= .5, of[1] *= .5;
      add_pair(it_.contexts, at);
      const auto first = static_cast<float>(of[0]), second = static_cast<float>(of[1]);
      it_.contexts.values.insert(it_.contexts.values.end(), {first, second});
      it_.context_sizes.push_back(static_cast<double>(first) + static_cast<double>(second));
    }
  }

  // The numbers of the combiner lie in the order of Combiner::each_number.
  void add_combiner() {
    const std::size_t newton = width_ * (width_ + 2), gradient = counts + 2 * newton, voters = width_ + 4;
    const std::size_t losses = gradient + width_, products = losses + voters, wrongs = products + 2 * voters, totals = wrongs + voters;
    for (const std::size_t first : {counts, counts + newton, gradient}) {
      for (std::size_t i = 0; i < count_; ++i) it_.numbers.push_back(number(first + i));
      it_.numbers.push_back(0);
    }
    for (std::size_t mixer = 0; mixer < 2; ++mixer) {
      const std::size_t covariance = counts + mixer * newton + width_, drift = covariance + width_ * width_;
      for (std::size_t i = 0; i <= count_; ++i)
        for (std::size_t j = 0; j <= count_; ++j) {
          if (i == count_ || j == count_)
            it_.numbers.push_back(i == j ? (mixer == 0 ? prior_fast : prior_slow) : 0);
          else
            it_.numbers.push_back(number(covariance + i * width_ + j) + (i == j ? number(drift + i) : 0));
        }
    }
    const double mistakes = number(totals), mixture_loss = number(totals + 3) - ln_of(number(totals + 4));
    const auto each_expert = [&](auto number_of, double of_prior) {
      for (std::size_t i = 0; i < count_; ++i) it_.numbers.push_back(number_of(i));
      it_.numbers.push_back(of_prior);
      for (std::size_t b = 0; b < mixers; ++b) it_.numbers.push_back(number_of(width_ + b));
    };
    // The prior member begins with the loss of the mixture. Its prior weight is added to those of the others, so all losses grow
    // by ln(1 + its prior): then the bound on the loss of the mixture still holds.
    const double added = ln_of(1 + .01 / static_cast<double>(count_ + 1));
    each_expert([&](std::size_t i) { return number(losses + i) - ln_of(number(products + i)) + added; }, mixture_loss + added);
    each_expert([&](std::size_t i) { return number(wrongs + i); }, mistakes);
    it_.numbers.insert(it_.numbers.end(), {mistakes, number(totals + 1), number(totals + 2), mixture_loss});
  }

  const PanelState& from_;
  std::size_t count_, width_;
  std::int32_t positive_;
  std::array<double, 2> rows_;
  ClassState it_;
};

}  // namespace mistakebound::panel
