// What happened, append-only: counts of everything, and in bounded memory the predictions and the updated examples.
#pragma once
#include <cstdint>
#include <vector>

#include "example.hpp"

namespace mistakebound {

struct Record {
  std::size_t limit_bytes = 0;  // for each of: kept examples, predictions, rounds of mistakes

  std::int64_t rounds = 0, false_positives = 0, false_negatives = 0, updates = 0;
  std::vector<std::uint8_t> predictions;     // 1 = positive; a prefix once the limit is reached
  std::vector<std::int64_t> mistake_rounds;  // likewise

  // The rounds that were updated or mistaken, as CSR: a prefix of them once the limit is reached.
  std::int64_t to_keep = 0;  // how many there were
  std::vector<std::int64_t> kept_round, kept_end;
  std::vector<std::int8_t> kept_label;      // +1, -1
  std::vector<std::uint8_t> kept_mistaken;  // 0: updated inside the update margin only
  std::vector<std::uint32_t> kept_index;
  std::vector<double> kept_value;
  bool keeping = true;
  static constexpr std::size_t many = 1 << 14, reservable = std::size_t{64} << 20;

  void predicted(bool positive, bool truth) {
    if (predictions.size() < limit_bytes) predictions.push_back(positive ? 1 : 0);
    if (positive != truth) {
      (positive ? false_positives : false_negatives) += 1;
      if (mistake_rounds.size() * sizeof(std::int64_t) < limit_bytes) mistake_rounds.push_back(rounds);
    }
  }

  template <class Index, class Value>
  void keep(const Row<Index, Value>& x, std::uint32_t first_slot, bool truth, bool mistaken) {
    constexpr std::size_t per_value = sizeof(std::uint32_t) + sizeof(double);
    constexpr std::size_t per_row = 2 * sizeof(std::int64_t) + 2;
    const std::size_t bytes = (kept_index.size() + x.size) * per_value + (kept_round.size() + 1) * per_row;
    keeping = keeping && bytes <= limit_bytes;  // a prefix, never with holes: later examples stay out too
    if (!keeping) {
      ++to_keep;
      return;
    }
    if (kept_index.size() > many && limit_bytes <= reservable && kept_index.capacity() < limit_bytes / per_value) {
      // One generous reservation instead of doubling: memory that is never written is never paged in.
      kept_index.reserve(limit_bytes / per_value);
      kept_value.reserve(limit_bytes / per_value);
    }
    const std::size_t first = kept_index.size();
    kept_index.resize(first + x.size);
    kept_value.resize(first + x.size);
    for (std::size_t k = 0; k < x.size; ++k) {
      kept_index[first + k] = static_cast<std::uint32_t>(x.index[k]) - first_slot;
      kept_value[first + k] = static_cast<double>(x.value[k]);
    }
    kept_round.push_back(rounds);
    kept_end.push_back(static_cast<std::int64_t>(kept_index.size()));
    kept_label.push_back(truth ? 1 : -1);
    kept_mistaken.push_back(mistaken ? 1 : 0);
    ++to_keep;
  }
};

}  // namespace mistakebound
