// The record of a run: counts of all rounds, and in bounded memory the predictions and the examples that caused updates. It
// only grows.
//
// Memory is reserved before a round changes anything (`expect`, `make_room`). If there is not enough, the round does not
// change weights or counts.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "memory/table.hpp"
#include "play/example.hpp"
#include "play/measures.hpp"

namespace mistakebound {

struct Record {
  std::size_t limit_bytes = 0;  // separately for the kept examples, the predictions, and the rounds of mistakes

  std::int64_t rounds = 0, false_positives = 0, false_negatives = 0, updates = 0;
  Table<std::uint8_t> predictions;           // 1 = positive; only the first ones if there are more than the limit allows
  std::vector<std::int64_t> mistake_rounds;  // only the first ones if there are more than the limit allows

  // The rounds with an update or a mistake, as CSR: only the first ones if there are more than the limit allows. None if the
  // rule does not keep examples (rules.hpp).
  std::int64_t to_keep = 0;  // number of these rounds, also those beyond the limit
  std::vector<std::int64_t> kept_round, kept_end;
  std::vector<std::int8_t> kept_label;      // +1, -1
  std::vector<std::uint8_t> kept_mistaken;  // 0: updated without a mistake, within the update margin
  Table<std::uint32_t> kept_index;
  Table<double> kept_value;
  bool keeping = true;

  // The kept rounds with updates between prediction and outcome, and the number of these updates. If the rule does not keep
  // examples: the first of all such rounds.
  std::vector<std::int64_t> late_round, late_delay;

  Measures measures;  // of learners with probabilities

  // Reserve memory for the predictions of this many more rounds.
  void expect(std::size_t more) {
    const std::size_t wanted = std::min(predictions.size() + more, std::max(limit_bytes, predictions.size()));
    if (wanted > predictions.capacity()) predictions.reserve(std::max(wanted, 2 * predictions.capacity()));
  }
  void add_predictions(const std::uint8_t* made, std::size_t count) {
    const std::size_t room = limit_bytes > predictions.size() ? limit_bytes - predictions.size() : 0;
    predictions.append(made, std::min(count, room));
  }

  // Adds the predictions of a batch when it ends, also if it ends because of an exception such as std::bad_alloc.
  class Batch {
   public:
    Batch(Record& record, const std::uint8_t* made, std::size_t rounds) : record_(record), made_(made), before_(record.rounds) {
      record.expect(rounds);
    }
    ~Batch() { record_.add_predictions(made_, static_cast<std::size_t>(record_.rounds - before_)); }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

   private:
    Record& record_;
    const std::uint8_t* made_;
    std::int64_t before_;
  };

  // Call it after `keep` and before `count`.
  void keep_delay(std::int64_t delay) {
    if (!keeping) return;
    late_round.push_back(rounds);
    late_delay.push_back(delay);
  }

  void count(bool positive, bool truth, bool updated) {
    if (positive != truth) {
      (positive ? false_positives : false_negatives) += 1;
      if (mistake_rounds.size() * sizeof(std::int64_t) < limit_bytes) mistake_rounds.push_back(rounds);
    }
    updates += updated ? 1 : 0;
    rounds += 1;
  }

  // Reserve memory for more rounds without their examples.
  void make_room_for_rounds(std::size_t more = 1) {
    for (auto* rounds_of : {&mistake_rounds, &late_round, &late_delay})
      if (rounds_of->size() + more > rounds_of->capacity()) rounds_of->reserve(2 * (rounds_of->size() + more));
  }
  // Call it before `count`, in place of `keep` and `keep_delay`, if the rule does not keep examples.
  void note_delay(std::int64_t delay) {
    // The first one is always kept, because theorems must not be applied to late outcomes.
    if (delay > 0 && (late_round.empty() || late_round.size() * 2 * sizeof(std::int64_t) < limit_bytes)) keep_delay(delay);
  }

  // Reserve memory for one more mistake with this many non-zeros.
  void make_room(std::size_t nonzeros) {
    const std::size_t first = kept_index.size(), last = first + nonzeros;
    make_room_for_rounds();
    if (!has_room(last)) return;
    if (last > kept_value.capacity() || last > kept_index.capacity()) {
      // One large reservation instead of repeated doubling. Unused memory is not paged in.
      const std::size_t all = first > many && limit_bytes <= reservable ? limit_bytes / per_value : 2 * first;
      kept_index.reserve(std::max(all, last));
      kept_value.reserve(std::max(all, last));
    }
    one_more(kept_round), one_more(kept_end), one_more(kept_label), one_more(kept_mistaken);
  }

  template <class Index, class Value>
  void keep(const Row<Index, Value>& x, std::uint32_t first_slot, bool truth, bool mistaken) {
    const std::size_t first = kept_index.size(), last = first + x.size;
    ++to_keep;
    keeping = has_room(last);
    if (!keeping) return;
    kept_index.resize(last);
    kept_value.resize(last);
    std::uint32_t* const index = kept_index.data() + first;
    double* const value = kept_value.data() + first;
    for (std::size_t k = 0; k < x.size; ++k) index[k] = static_cast<std::uint32_t>(x.index[k]) - first_slot;
    for (std::size_t k = 0; k < x.size; ++k) value[k] = static_cast<double>(x.value[k]);
    kept_round.push_back(rounds);
    kept_end.push_back(static_cast<std::int64_t>(last));
    kept_label.push_back(truth ? 1 : -1);
    kept_mistaken.push_back(mistaken ? 1 : 0);
  }

 private:
  static constexpr std::size_t per_value = sizeof(std::uint32_t) + sizeof(double);
  static constexpr std::size_t per_row = 2 * sizeof(std::int64_t) + 2;
  static constexpr std::size_t many = 1 << 14, reservable = std::size_t{64} << 20;

  // Once a round did not fit, no later round is kept: the kept rounds are the first ones, without gaps.
  bool has_room(std::size_t values) const {
    return keeping && values * per_value + (kept_round.size() + 1) * per_row <= limit_bytes;
  }

  template <class T>
  static void one_more(std::vector<T>& v) {
    if (v.size() == v.capacity()) v.reserve(std::max<std::size_t>(16, 2 * v.size()));
  }
};

}  // namespace mistakebound
