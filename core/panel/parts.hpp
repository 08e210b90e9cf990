// What the parts of a row add to the scores of the members, and how the combiner weighs the members: all that an explanation of a
// prediction needs. Nothing of it is used to predict or to learn.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "panel/state.hpp"

namespace mistakebound::panel {

struct Parts {
  static constexpr std::size_t place_members = std::size_t{list} + 1;  // members whose scores are sums over features
  static constexpr std::size_t features_of_slot = 3;

  std::size_t classes = 1;          // numbers of each member: 1 for two labels
  std::size_t places = 0;           // non-zeros, and after them the constant
  std::vector<double> of_places;    // of each place, each member, each class
  std::vector<std::int32_t> slots;  // the places of each interaction; -1 after one or two of them
  std::vector<double> of_slots;     // of each interaction, coin betting and AdaGrad, each class
  // Of the members that play: score for each class, and factor from score to logit.
  std::vector<double> scores, factors;
  std::vector<double> mixing;  // of each mixer: its weights of the members
  std::vector<double> shares;  // of the members, and after them of the mixers, in the Bayes mixture
  // What is predicted: the logit of the positive label, or the probability of each class and of a new label.
  double logit = 0;
  std::int32_t prediction = -1;
  bool overridden = false;
  std::vector<double> probabilities;
  // The row, without stored zeros and with repeated features summed.
  std::vector<std::int64_t> index;
  std::vector<double> value;

  void start(std::size_t nonzeros, std::size_t of_classes) {
    places = nonzeros + 1, classes = of_classes;
    of_places.assign(places * place_members * classes, 0);
    slots.clear(), of_slots.clear(), scores.clear(), factors.clear(), mixing.clear(), shares.clear(), probabilities.clear();
  }
  double& of(std::size_t place, std::size_t member, std::size_t k = 0) { return of_places[(place * place_members + member) * classes + k]; }

  // Add the interactions of tokens in the order of SlotNumbers. `tokens`: the place of each token.
  void add_slots(const std::vector<std::int32_t>& tokens, const std::array<std::size_t, 3>& counts) {
    const std::size_t n = tokens.size();
    for (std::size_t k = 0; k < n; ++k) slots.insert(slots.end(), {tokens[k], -1, -1});
    for (std::size_t k = 0; counts[1] > 0 && k < n; ++k)
      for (std::size_t l = k + 1; l < n; ++l) slots.insert(slots.end(), {tokens[k], tokens[l], -1});
    for (std::size_t k = 0; counts[2] > 0 && k < n; ++k)
      for (std::size_t l = k + 1; l < n; ++l)
        for (std::size_t r = l + 1; r < n; ++r) slots.insert(slots.end(), {tokens[k], tokens[l], tokens[r]});
    of_slots.assign((counts[0] + counts[1] + counts[2]) * 2 * classes, 0);
  }
  // `which`: 0 for coin betting, 1 for AdaGrad.
  double& of_slot(std::size_t slot, std::size_t which, std::size_t k = 0) { return of_slots[(slot * 2 + which) * classes + k]; }
};

}  // namespace mistakebound::panel
