// What the panel keeps: 96 bytes for each feature, and 32 for each slot of the table of interactions. The numbers of a feature
// that was never seen are all 0; those that do not start at 0 get their start values when they are first read.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mistakebound::panel {

inline constexpr std::size_t members = 16, mixers = 3;
// The members in their order, as Python names them (src/mistakebound/rules/panel.py).
enum Member : std::size_t {
  coin, implicit, arow, adagrad, hinge, ftrl, sgd, winnow, eg, bayes, list, coin_pairs, adagrad_pairs, coin_triples, adagrad_triples, history
};

// Numbers of a feature, by the group of members that uses them. The first two groups have half a line of the cache each.
enum FirstField : std::size_t {
  scale,                                        // largest |x| so far
  positives, negatives,                         // rows with it, by label: integers in the bits of the float
  coin_sum, coin_size, coin_reward, coin_most,  // T, G, R, L of coin betting
  eg_w,                                         // sinh z
  half_floats
};
enum SecondField : std::size_t { implicit_w, implicit_sum, arow_w, arow_variance, adagrad_w, adagrad_sum, ftrl_w, ftrl_sum };

enum ThirdField : std::size_t { hinge_w, hinge_sum, sgd_w, winnow_w /* sinh(0.1 z) */, third_floats };
struct alignas(16) Third {
  float at[third_floats];
};
// Moments of x, for the tokens of interactions: count (an integer in the bits), mean, sum of squared deviations. Wide rows use
// those of frequent features only.
enum MomentField : std::size_t { seen, mean, spread, spare, moment_floats };
struct alignas(16) Moments {
  float at[moment_floats];
};

// A slot of the interactions: coin betting (w, T, G, R, L) and AdaGrad (w, G) on products of features.
struct alignas(32) Slot {
  float coin_w, adagrad_w, coin_sum, coin_size, coin_reward, coin_most, adagrad_sum, spare;
};
inline constexpr std::size_t slot_floats = 7;
inline constexpr std::size_t feature_floats = 2 * std::size_t{half_floats} + std::size_t{third_floats} + std::size_t{moment_floats};
inline constexpr unsigned slot_bits = 18;
inline constexpr std::size_t slot_count = std::size_t{1} << slot_bits;

inline constexpr float first_sum = 1e-8f;  // of every AdaGrad
// Limits that no real stream reaches: they keep every number finite in float32.
inline constexpr float largest_weight = 1e30f, largest_reward = 1e20f, least_bet = 1e-12f;

// Rows with more non-zeros than these have no triples, no pairs, and no interactions at all.
inline constexpr std::size_t most_for_triples = 12, most_for_pairs = 48, most_for_tokens = 256;
inline constexpr std::size_t lanes = 8;    // features that are worked on at the same time

// Indices of the constant, of the places after it, and of features that are not in the tables. Their records lie before those
// of the features.
inline constexpr std::int32_t constant_index = -3, padding_index = -2, unknown_index = -1;
inline constexpr std::size_t before_features = 4;  // a multiple of the records of a line of the cache

// All that predictions and updates depend on, as a file keeps it: only features and slots that were ever learned.
struct PanelState {
  std::vector<std::uint32_t> features;  // their numbers; the constant is not among them
  std::vector<float> records;           // feature_floats of each, then those of the constant
  std::vector<std::uint32_t> touched;   // numbers of slots
  std::vector<float> slots;             // slot_floats of each
  std::vector<double> numbers;          // counts, label history and combiner
  std::vector<double> leads;            // round and member of each change of the leader, one after the other
};

}  // namespace mistakebound::panel
