// Plays the panel of several classes, with the same functions that PanelPlay has. Labels, predictions and probabilities of a batch
// travel beside the rows. The measures of its record are about the probability of each prediction, and whether it was right.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <vector>

#include "panel/classes/core.hpp"
#include "panel/classes/from_binary.hpp"
#include "play/class_game.hpp"
#include "play/class_record.hpp"
#include "play/example.hpp"
#include "play/panel_play.hpp"
#include "play/record.hpp"
#include "play/rows.hpp"
#include "play/values.hpp"

namespace mistakebound {

class ClassPlay final : public ClassGame {
 public:
  static constexpr bool binary = false, computes_weights = true, in_blocks = true;
  static constexpr std::string_view id = "multiclass-panel";
  using ByIndex = PanelPlay::ByIndex;

  explicit ClassPlay(const Settings& settings) : settings_(settings) {
    make();
    resize(settings.named ? 1 : settings.width);
  }

  const Settings& settings() const { return settings_; }
  const panel::ClassCore& core() const { return *core_; }
  std::size_t slots() const { return core_->features(); }
  std::size_t classes() const override { return core_->classes(); }
  std::int64_t first_seen() const override { return record.rounds - static_cast<std::int64_t>(core_->totals().rounds); }
  std::int64_t overrides() const override { return static_cast<std::int64_t>(core_->totals().overrides); }

  void use_avx2(bool avx2) {
    settings_.avx2 = avx2;
    const panel::ClassState state = core_->state();
    const std::size_t features = slots();
    make();
    core_->restore(state, features);
  }
  // Reserve a power of two, because the number of features grows row by row.
  void reserve(std::size_t features) {
    if (features > slots()) core_->reserve(std::bit_ceil(features));
  }
  void resize(std::size_t features) { core_->resize(features); }
  void widen(std::size_t width) {
    if (width <= settings_.width) return;
    resize(width);
    settings_.width = width;
  }
  bool large() const { return false; }  // rows are not prefetched: each takes many cache lines
  void fetch(std::int32_t) const {}
  bool is_positive(double) const { return false; }
  double normalised(double score) const { return score; }

  // Check a row, predict it, learn it.
  template <class Index, class Value, class Prepare, class TokenOf>
  Fault add(const Row<Index, Value>& x, std::size_t& at, Prepare prepare, TokenOf token_of) {
    if (labels_.label == nullptr) throw std::logic_error("a panel of several classes needs labels of classes");
    const std::int32_t label = *labels_.label;
    if (label < 0 || static_cast<std::size_t>(label) > classes()) return Fault::label;
    if (const Fault fault = learnable_below(x, slots(), at); fault != Fault::none) return fault;
    const double weight = labels_.weight != nullptr ? *labels_.weight : 1;
    if (!is_weight(weight)) return Fault::weight;
    prepare();
    const panel::ClassRow row = copied(x, token_of);
    const panel::ClassVerdict verdict = core_->predict(row);
    const std::vector<double>& chances = core_->probabilities();
    const double chance = chances[static_cast<std::size_t>(label)];
    const double of_prediction = verdict.prediction < 0 ? 0 : chances[static_cast<std::size_t>(verdict.prediction)];
    double squares = 1 - 2 * chance;
    for (const double p : chances) squares += p * p;
    const std::int64_t delay = earlier_class ? record.updates - earlier_class->updates : 0;
    const EarlierClass made = delay > 0 ? *earlier_class : EarlierClass{verdict.prediction, of_prediction, chance, squares, 0};
    record.make_room_for_rounds();
    record.measures.make_room();
    of_classes.make_room(label, made.prediction, record.limit_bytes);
    core_->learn(row, label, weight);
    record.note_delay(delay);
    record.count(made.prediction != label, false, true);
    of_classes.count(label, made.prediction, record.limit_bytes);
    if (record.measures.on) of_classes.measure(made.probability, made.brier);
    if (made.prediction >= 0) record.measures.add_confidence(made.confidence, made.prediction == label);
    *labels_.prediction++ = made.prediction;
    if (labels_.log_probability != nullptr) *labels_.log_probability++ = ln_of(made.probability);
    if (labels_.confidence != nullptr) *labels_.confidence++ = made.confidence;
    ++labels_.label;
    if (labels_.weight != nullptr) ++labels_.weight;
    return Fault::none;
  }
  template <class Index, class Value, class Prepare, class TokenOf>
  Fault round(const Row<Index, Value>& x, std::int8_t, bool&, std::size_t& at, Prepare prepare, TokenOf token_of) {
    return add(x, at, prepare, token_of);
  }

  // Predict one row without learning. A feature that is not in the tables counts as never seen.
  template <class Index, class Value, class TokenOf>
  Fault score(const Row<Index, Value>& x, double&, std::size_t& at, TokenOf token_of) {
    if (labels_.probability == nullptr) throw std::logic_error("a panel of several classes has a probability for each class");
    if (const Fault fault = learnable_below(x, slots() + x.beyond, at); fault != Fault::none) return fault;
    *labels_.prediction++ = core_->predict(copied(x, token_of)).prediction;
    labels_.probability = std::copy(core_->probabilities().begin(), core_->probabilities().end(), labels_.probability);
    return Fault::none;
  }

  // Predict one row, and return what its parts add to the scores of the members.
  template <class Index, class Value, class TokenOf>
  Fault explain(const Row<Index, Value>& x, panel::Parts& to, std::size_t& at, TokenOf token_of) {
    if (const Fault fault = learnable_below(x, slots() + x.beyond, at); fault != Fault::none) return fault;
    core_->explain(copied(x, token_of), to);
    return Fault::none;
  }
  float scale_of(std::size_t slot) const { return core_->scale_of(slot); }

  template <class Rows>
  Stop play(const Rows& batch, const std::int8_t*, std::uint8_t*, double*) {
    of_classes.expect(static_cast<std::size_t>(batch.rows), record.limit_bytes);
    return each_row<true>(*this, batch, [&](const auto& x, std::int64_t, std::size_t& at) { return add(x, at, [] {}, ByIndex{}); });
  }
  template <class Rows>
  Stop scores(const Rows& batch, double*, std::uint8_t*) {
    double none = 0;
    return each_row<false>(*this, batch, [&](const auto& x, std::int64_t, std::size_t& at) { return score(x, none, at, ByIndex{}); });
  }

  panel::ClassState state() const { return core_->state(); }
  // Throws std::invalid_argument if the state is not that of such a panel.
  void restore(const panel::ClassState& state, std::size_t features) { core_->restore(state, features); }
  // Continue the record of a panel of two classes, of which `rows` of both classes were labelled. Its Brier score counts one class.
  void continue_record(const Record& from, std::int32_t negative, std::int32_t positive, const double* rows) {
    record.rounds = from.rounds, record.updates = from.updates;
    record.false_positives = from.false_positives + from.false_negatives;
    record.mistake_rounds = from.mistake_rounds;
    record.late_round = from.late_round, record.late_delay = from.late_delay, record.keeping = from.keeping;
    record.measures = from.measures;
    record.measures.turn_into_confidences();
    of_classes.measured = from.measures.rounds;
    of_classes.log_loss = from.measures.log_loss();
    of_classes.brier = 2 * from.measures.brier;
    of_classes.expect(from.predictions.size(), record.limit_bytes);
    for (std::size_t k = 0; k < from.predictions.size(); ++k)
      of_classes.add_prediction(from.predictions.data()[k] != 0 ? positive : negative, record.limit_bytes);
    const auto had = [rows](std::int32_t label) { return static_cast<std::int64_t>(rows[label]); };
    of_classes.confusion[{negative, positive}] = from.false_positives;
    of_classes.confusion[{positive, negative}] = from.false_negatives;
    of_classes.confusion[{negative, negative}] = std::max<std::int64_t>(had(negative) - from.false_positives, 0);
    of_classes.confusion[{positive, positive}] = std::max<std::int64_t>(had(positive) - from.false_negatives, 0);
  }

 private:
  void make() {
    const panel::Roster roster = roster_of(settings_);
#ifdef MISTAKEBOUND_LEVELS
    if (settings_.avx2 && __builtin_cpu_supports("fma"))
      core_ = panel::avx2_classes(roster);
    else
#endif
      core_ = panel::plain_classes(roster);
  }

  // The row as the panel reads it, in memory that is reused.
  template <class Index, class Value, class TokenOf>
  panel::ClassRow copied(const Row<Index, Value>& x, TokenOf token_of) {
    constexpr bool named = !std::is_same_v<TokenOf, ByIndex>;
    if (owner_.size() < x.size) owner_.resize(2 * x.size), value_.resize(2 * x.size), token_.resize(2 * x.size);
    const std::size_t known = slots();
    for (std::size_t k = 0; k < x.size; ++k) {
      const auto index = static_cast<std::size_t>(x.index[k]);
      owner_[k] = static_cast<std::uint32_t>(index < known ? index + panel::before_owners : panel::unknown_owner);
      value_[k] = static_cast<float>(x.value[k]);
      if constexpr (named)
        token_[k] = token_of(k);
      else
        token_[k] = static_cast<std::uint64_t>(index);
    }
    return {owner_.data(), value_.data(), token_.data(), x.size};
  }

  Settings settings_;
  std::unique_ptr<panel::ClassCore> core_;
  std::vector<std::uint32_t> owner_;
  std::vector<float> value_;
  std::vector<std::uint64_t> token_;
};

}  // namespace mistakebound
