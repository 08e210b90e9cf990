// What the panel of several classes keeps: numbers of each feature, and records for the pairs of feature and class, and of slot
// and class, that were ever learned. The numbers of a record that was never learned are all 0.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "panel/state.hpp"

namespace mistakebound::panel {

inline constexpr std::size_t class_members = members + 1;  // those of the panel of two classes, and the prior
inline constexpr std::size_t prior = members;

// How many classes learn from a row: the label and its strongest rivals.
inline constexpr std::size_t most_active = 16;
inline constexpr std::size_t most_classes = std::size_t{1} << 30;

// Numbers of a feature and a class. AdaGrad's sums are kept without their start value, and a variance of 0 stands for 1.
enum CellField : std::size_t {
  cell_coin_w, cell_implicit_w, cell_hinge_w, cell_eg_w /* sinh z */, cell_arow_w, cell_adagrad_w, cell_ftrl_w, cell_sgd_w,
  cell_winnow_w /* sinh(0.1 z) */, linear_fields,
  cell_count = linear_fields, cell_coin_sum, cell_coin_size, cell_coin_reward, cell_coin_most, cell_implicit_sum, cell_hinge_sum,
  cell_arow_variance, cell_adagrad_sum, cell_ftrl_sum, cell_fields
};
// Numbers of a slot and a class.
enum SlotField : std::size_t {
  slot_coin_w, slot_adagrad_w, slot_coin_sum, slot_coin_size, slot_coin_reward, slot_coin_most, slot_adagrad_sum, slot_fields
};

struct FeatureRecord {
  float scale, mean, spread;  // largest |x| so far; moments of x
  std::uint32_t seen;         // rows with it
  double count;               // sum of the weights of these rows
};

// Numbers for pairs of an owner (a feature, a slot, or a context of labels) and a class.
struct PairState {
  std::vector<std::uint32_t> owners;   // in increasing order
  std::vector<std::uint32_t> counts;   // classes of each
  std::vector<std::int32_t> classes;   // in increasing order for each owner
  std::vector<float> values;           // a record of floats for each class
};
// All that predictions and updates depend on, as a file keeps it. Owner 0 of the cells is the constant, feature i is owner i + 2.
struct ClassState {
  PairState cells, slots, contexts;
  std::vector<double> features;       // scale, mean, spread, seen and count of each owner of cells
  std::vector<double> context_sizes;  // rows counted in each context
  std::vector<double> numbers;        // counts of the classes, label history and combiner
  std::vector<double> leads;          // round and member of each change of the leader, one after the other
};
inline constexpr std::size_t feature_numbers = 5;
// The label sequence has contexts of the last one, two and three labels.
inline constexpr std::size_t context_orders = 3;
inline constexpr unsigned context_bits = 14;
inline constexpr std::size_t context_count = context_orders << context_bits;
using LastLabels = std::array<double, context_orders>;  // each plus 1, the newest first; 0 before the first
inline std::array<std::size_t, context_orders> contexts_of(const LastLabels& labels) {
  const auto word = [&labels](std::size_t k) { return static_cast<std::uint64_t>(labels[k]); };
  const std::uint64_t two = word(0) * 0x9E3779B97F4A7C15ULL + word(1) * 0xC2B2AE3D27D4EB4FULL;
  const std::uint64_t three = two + word(2) * 0x165667B19E3779F9ULL;
  constexpr std::uint64_t size = std::uint64_t{1} << context_bits;
  return {static_cast<std::size_t>(word(0) & (size - 1)), static_cast<std::size_t>(size + (two >> (64 - context_bits))),
          static_cast<std::size_t>(2 * size + (three >> (64 - context_bits)))};
}
// First variances of the weight of the prior in the fast and the slow mixer.
inline constexpr double prior_fast = .06, prior_slow = .018;
inline constexpr std::size_t constant_owner = 0, unknown_owner = 1, before_owners = 2;

// A row: features are owners of cells; the constant is not among them.
struct ClassRow {
  const std::uint32_t* owner;
  const float* value;
  const std::uint64_t* token;  // a number made from the name of each feature; null if features have no names
  std::size_t size;

  std::uint64_t token_of(std::size_t k) const {
    return token != nullptr ? token[k] : static_cast<std::uint64_t>(owner[k] - static_cast<std::uint32_t>(before_owners));
  }
};

// Whether a number of a state can be a count. Above 2^53, adding 1 does not change it.
inline bool is_count(double number) { return number >= 0 && number <= 9007199254740992.0 && number == std::floor(number); }

// What the panel predicts for a row, before its label is known.
struct ClassVerdict {
  std::int32_t prediction = -1;  // -1 before the first label
  bool overridden = false;       // whether the guard overrode the mixture
  double fresh = 1;              // probability of a label that was never seen
};

}  // namespace mistakebound::panel
