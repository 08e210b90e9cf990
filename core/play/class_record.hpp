// What a learner of several classes records beside the counts of its rounds: predictions in bounded memory, and how often each
// label got each prediction.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "memory/table.hpp"
#include "rules/elementary.hpp"

namespace mistakebound {

struct ClassRecord {
  Table<std::int32_t> predictions;  // only the first ones if there are more than the limit allows
  std::int64_t measured = 0;        // rounds that log loss and Brier score count; later passes over a stream are left out
  double log_loss = 0, brier = 0;   // Σ −ln p(y), and Σ (p − y)² over all classes and the new label
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> confusion;  // rounds by label and prediction

  // Of each kept example (Record), for a rule that keeps examples: its label, and the prediction that was wrong.
  std::vector<std::int32_t> kept_label, kept_prediction;

  // Reserve memory for the predictions of this many more rounds.
  void expect(std::size_t more, std::size_t limit_bytes) {
    const std::size_t wanted = std::min(predictions.size() + more, std::max(most(limit_bytes), predictions.size()));
    if (wanted > predictions.capacity()) predictions.reserve(std::max(wanted, 2 * predictions.capacity()));
  }
  // Reserve memory, so that `count` cannot fail.
  void make_room(std::int32_t label, std::int32_t prediction, std::size_t limit_bytes) {
    expect(1, limit_bytes);
    confusion.try_emplace({label, prediction});
  }
  void make_room_to_keep() {
    for (auto* kept : {&kept_label, &kept_prediction})
      if (kept->size() == kept->capacity()) kept->reserve(std::max<std::size_t>(16, 2 * kept->size()));
  }
  void keep(std::int32_t label, std::int32_t prediction) { kept_label.push_back(label), kept_prediction.push_back(prediction); }
  void count(std::int32_t label, std::int32_t prediction, std::size_t limit_bytes) {
    add_prediction(prediction, limit_bytes);
    confusion[{label, prediction}] += 1;
  }
  // The probability of the label, and the sum of (p − y)².
  void measure(double probability, double squares) {
    measured += 1;
    log_loss -= ln_of(probability);
    brier += squares;
  }
  void add_prediction(std::int32_t prediction, std::size_t limit_bytes) {
    if (predictions.size() < most(limit_bytes)) predictions.append(&prediction, 1);
  }

 private:
  static std::size_t most(std::size_t limit_bytes) { return limit_bytes / sizeof(std::int32_t); }
};

}  // namespace mistakebound
