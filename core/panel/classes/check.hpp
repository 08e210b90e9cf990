// Checks of the state of a panel of several classes, which may come from a file.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "panel/classes/state.hpp"

namespace mistakebound::panel {

inline void require(bool so, const char* otherwise) {
  if (!so) throw std::invalid_argument(otherwise);
}
// Whether all numbers are finite, and far from where sums and products of them would not be.
template <class Number>
bool all_finite(const std::vector<Number>& numbers) {
  constexpr Number largest = static_cast<Number>(1.001e38);  // spreads reach 1e38
  return std::all_of(numbers.begin(), numbers.end(), [](Number number) { return std::fabs(number) <= largest; });
}

// What the records of a kind of owner must be.
struct PairRules {
  std::size_t owners, classes, fields;
  const bool* is_size;   // of each field, whether it is a sum of sizes or of squares, which is not negative
  bool without_gaps;     // whether an owner has records for the first classes without gaps, as long as classes are few
};

inline void check(const PairState& pairs, const PairRules& rules) {
  const auto [owners, classes, fields, is_size, without_gaps] = rules;
  require(pairs.counts.size() == pairs.owners.size(), "the state must have a number of classes for each owner of records");
  std::size_t records = 0;
  for (std::size_t k = 0; k < pairs.owners.size(); ++k) {
    require(pairs.owners[k] < owners && (k == 0 || pairs.owners[k] > pairs.owners[k - 1]), "a record has no owner");
    const std::size_t count = pairs.counts[k];
    require(count >= 1 && count <= classes && pairs.classes.size() - records >= count, "an owner has a wrong number of classes");
    for (std::size_t c = records; c < records + count; ++c) {
      const std::int32_t label = pairs.classes[c];
      require(label >= 0 && static_cast<std::size_t>(label) < classes && (c == records || label > pairs.classes[c - 1]), "a record has no class");
    }
    require(!without_gaps || classes > most_active || static_cast<std::size_t>(pairs.classes[records + count - 1]) == count - 1, "a record has no class");
    records += count;
  }
  require(pairs.classes.size() == records && pairs.values.size() == records * fields, "the records of the state have a wrong size");
  require(all_finite(pairs.values), "a number of the state is not finite, or too large");
  for (std::size_t k = 0; k < pairs.values.size(); ++k) {
    const bool size_of = is_size[k % fields];
    require(!size_of || pairs.values[k] >= 0, "a sum of squares of the state is negative");
    require(size_of || std::fabs(pairs.values[k]) <= largest_weight, "a weight of the state is too large");
  }
}

inline void check(const ClassState& state, std::size_t features, std::size_t classes) {
  bool of_cell[cell_fields] = {}, of_slot[slot_fields] = {}, of_context[1] = {true};
  for (const CellField f : {cell_count, cell_coin_size, cell_coin_reward, cell_coin_most, cell_implicit_sum, cell_hinge_sum,
                            cell_arow_variance, cell_adagrad_sum, cell_ftrl_sum})
    of_cell[f] = true;
  for (const SlotField f : {slot_coin_size, slot_coin_reward, slot_coin_most, slot_adagrad_sum}) of_slot[f] = true;
  require(classes <= most_classes, "the state has too many classes");
  check(state.cells, {features + before_owners, classes, cell_fields, of_cell, true});
  check(state.slots, {slot_count, classes, slot_fields, of_slot, true});
  check(state.contexts, {context_count, classes, 1, of_context, false});
  require(all_finite(state.numbers) && all_finite(state.features) && all_finite(state.context_sizes) && all_finite(state.leads),
          "a number of the state is not finite, or too large");
  require(state.context_sizes.size() == state.contexts.owners.size(), "the state must have a size for each context");
  require(state.features.size() == state.cells.owners.size() * feature_numbers, "the state must have five numbers for each feature");
  for (std::size_t k = 0; k < state.features.size(); k += feature_numbers) {
    const double *const f = state.features.data() + k, largest = 1e38;
    const double seen = f[3];
    require(f[0] >= 0 && f[0] <= largest && std::fabs(f[1]) <= largest && f[2] >= 0 && f[2] <= largest && seen >= 0 && seen <= 4294967295.0 &&
                seen == std::floor(seen) && f[4] >= 0,
            "a number of a feature is out of range");
  }
  for (const double size : state.context_sizes) require(size >= 0, "a context has a negative size");
  require(state.leads.size() % 2 == 0, "the state must have a round and a member for each change of the leader");
}

}  // namespace mistakebound::panel
