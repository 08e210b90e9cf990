// The loop of all linear rules: predict the label of x, then learn the label y. src/mistakebound/rules/reference.py is its
// specification in Python, which gives the same bits.
//
// Each feature has a slot (slot.hpp): w, which a prediction reads, and z or the rule's own floats, which an update changes. A
// rule with scalars has no w; it computes its weights at each prediction.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "memory/table.hpp"
#include "play/example.hpp"
#include "play/record.hpp"
#include "play/rows.hpp"
#include "play/rows_of_one_type.hpp"
#include "play/sum.hpp"
#include "play/values.hpp"
#include "rules/balanced_avx2.hpp"
#include "rules/rules.hpp"
#include "rules/slot.hpp"

namespace mistakebound {

// A rule that computes a step (stepping.hpp), one with floats of its own, and one with scalars.
template <class Rule>
concept Stepping = requires { typename Rule::Step; };
template <class Rule>
concept Stateful = requires { typename Rule::Slot; };
template <class Rule>
concept Scalars = requires(const Rule& rule) { rule.scalars; };
// A rule that takes weights of rows.
template <class Rule>
concept Weighted = requires(typename Rule::Step& step) { Rule::weigh(step, 1.0); };

template <class Rule>
struct SlotOf {
  using type = std::conditional_t<Rule::identity, WeightOnly, WeightAndSum>;
};
template <Stateful Rule>
struct SlotOf<Rule> {
  using type = typename Rule::Slot;
};

template <class Rule>
class Play {
  using Slot = typename SlotOf<Rule>::type;

 public:
  Play(const Rule& rule, const Settings& settings) : rule_(rule), settings_(settings) {
    const std::size_t slots = settings.named ? 1 : settings.width;
    make_slots(slots);
    if constexpr (!Scalars<Rule>) bias_.w = weight(0);
    recompute_total();
  }
  static constexpr std::size_t floats = Stateful<Rule> ? sizeof(Slot) / sizeof(float) : 1;  // number of floats per feature

  Record record;
  std::optional<EarlierPrediction> earlier;  // if set, the next rounds use this prediction instead of a new one
  const double* weights = nullptr;           // of the next rows; null: all are 1
  double last_score = 0;                     // of the last round, as it is reported
  const Settings& settings() const { return settings_; }
  std::size_t slots() const { return slots_.size(); }
  void use_avx2(bool avx2) { settings_.avx2 = avx2; }

  // Reserve a power of two, because the number of features grows row by row. Unused memory is not paged in.
  void reserve(std::size_t slots) {
    if (slots > slots_.capacity()) slots_.reserve(std::bit_ceil(slots));
  }

  // Give every new slot the weight link(0). If the total then overflows, choose a new common factor.
  void resize(std::size_t slots) {
    const std::size_t before = slots_.size();
    make_slots(slots);
    if constexpr (Rule::normalised) {
      const double mass = rule_.mass(weight(0), 0);
      for (std::size_t i = before; i < slots; ++i) add_mass(mass);
      if (!(total_.value() <= largest_total)) rescale();
    }
  }

  // Add features with the weight link(0), up to this width. This happens row by row, not once per batch, because the
  // normaliser of some rules depends on the number of features.
  void widen(std::size_t width) {
    if (width <= settings_.width) return;
    reserve(width);
    resize(width);
    settings_.width = width;
  }

  static constexpr bool binary = Rule::binary;
  static constexpr bool computes_weights = Scalars<Rule>;

  // Play one round. `prepare` is called before x is learned or kept: it gives slots to new names, and returns x with repeated
  // features summed. If the result is a fault, `at` is the position of the feature at fault.
  template <class Index, class Value, class Prepare>
  Fault round(const Row<Index, Value>& x, std::int8_t label, bool& positive, std::size_t& at, Prepare prepare) {
    if (label != 1 && label != -1) return Fault::label;
    const double of_row = weights != nullptr ? *weights : 1;  // its weight
    if constexpr (Weighted<Rule>)
      if (!is_weight(of_row)) return Fault::weight;
    double raw;
    if (const Fault fault = score(x, raw, at); fault != Fault::none) return fault;
    if constexpr (Rule::log_odds) record.measures.make_room();
    const bool truth = label == 1;
    // If there was no update since the earlier prediction, a new prediction is equal to it, unless scalars changed.
    const std::int64_t delay = earlier ? record.updates - earlier->updates : 0;
    const bool late = delay > 0 || (computes_weights && earlier);
    positive = late ? earlier->positive : is_positive(raw);
    const bool mistaken = positive != truth;
    last_score = late ? earlier->score : normalised(raw);
    if (late) raw = earlier->score;
    const bool update = of_row != 0 && must_update(x, raw, label, mistaken, late);
    if (update)
      if (const Fault fault = learnable(x, at); fault != Fault::none) [[unlikely]]
        return fault;
    if constexpr (!Rule::keeps_examples) {
      record.make_room_for_rounds();
      if (update) learn(prepare(), raw, label, of_row);
      record.note_delay(delay);
    } else if (update || mistaken) {
      record.make_room(x.size);
      const Row<Index, Value> prepared = prepare();
      record.keep(prepared, settings_.named ? 1 : 0, truth, mistaken);
      if (late) record.keep_delay(delay);
      if (update) learn(prepared, raw, label, of_row);
    }
    if constexpr (Scalars<Rule>) rule_.count(label, of_row);
    if constexpr (Rule::log_odds) record.measures.add(last_score, truth);
    record.count(positive, truth, update);
    if (weights != nullptr) ++weights;
    return Fault::none;
  }

  // Compute w·x + bias in the order of sum.hpp. `raw` is the value that is compared with the threshold.
  template <class Index, class Value>
  Fault score(const Row<Index, Value>& x, double& raw, std::size_t& at) const {
    if constexpr (Scalars<Rule>) {
      const std::size_t count = slots_.size();
      for (std::size_t k = 0; k < x.size; ++k)
        if (!regular(Weights<Slot>{slots_.data(), count}, x, k)) return Fault::irregular;
      raw = computed(x, [&](std::size_t k) -> const Slot& { return slots_.data()[x.index[k]]; });
    } else if (!dot(x, bias_term(), raw)) [[unlikely]] {
      return Fault::irregular;
    }
    return checked(x, raw, at);
  }

  bool is_positive(double raw) const { return settings_.strict ? raw > settings_.threshold : raw >= settings_.threshold; }

  // Check x and its score.
  template <class Index, class Value>
  Fault checked(const Row<Index, Value>& x, double raw, std::size_t& at) const {
    if constexpr (Rule::binary) {
      if (const Fault fault = check_binary(x, at); fault != Fault::none) return fault;
    }
    if (std::isfinite(raw)) [[likely]]
      return Fault::none;
    for (at = 0; at < x.size; ++at)  // if all values are finite, the sum overflowed
      if (!std::isfinite(static_cast<double>(x.value[at]))) return Fault::not_finite;
    return Fault::overflow;
  }

  // Whether the weights do not fit into the cache of a core. Then prefetching them saves time.
  bool large() const { return slots_.size() * sizeof(Slot) > cache_bytes; }

  // Prefetch the weight of a slot.
  [[gnu::always_inline]] void fetch(std::int32_t slot) const { mistakebound::fetch(slots_.data(), slot); }

  // The score that is reported: divided by the normaliser, if the rule has one.
  double normalised(double raw) const {
    if constexpr (Rule::normalised) {
      const double by = rule_.normaliser(total_.value());
      return by > 0 ? raw / by : 0.0;
    }
    return raw;
  }

  template <class Batch>
  Stop play(const Batch& batch, const std::int8_t* y, std::uint8_t* predictions, double* scores) {
    if constexpr (Stepping<Rule>) {
      RowsOfOneType rows(batch);
      return play_rows(rows, y, predictions, scores);
    } else {
      return play_rows(batch, y, predictions, scores);
    }
  }
  template <class Batch>
  Stop scores(const Batch& batch, double* out, std::uint8_t* predictions) {
    if constexpr (Stepping<Rule>) {
      RowsOfOneType rows(batch);
      return score_rows(rows, out, predictions);
    } else {
      return score_rows(batch, out, predictions);
    }
  }

 private:
  template <class Batch>
  Stop play_rows(Batch& batch, const std::int8_t* y, std::uint8_t* predictions, double* scores) {
    const Record::Batch kept(record, predictions, static_cast<std::size_t>(batch.rows));
    return each_row<true>(*this, batch, [&](const auto& x, std::int64_t r, std::size_t& at) {
      bool positive = false;
      const Fault fault = round(x, y[r], positive, at, [&x] { return x; });
      predictions[r] = positive ? 1 : 0;
      if (scores != nullptr) scores[r] = last_score;
      return fault;
    });
  }
  template <class Batch>
  Stop score_rows(Batch& batch, double* out, std::uint8_t* predictions) {
    return each_row<false>(*this, batch, [&](const auto& x, std::int64_t r, std::size_t& at) {
      double raw = 0;
      Fault fault = score(x, raw, at);
      out[r] = normalised(raw);
      if (fault == Fault::irregular && x.beyond > 0) fault = score_beyond(x, raw, out[r], at);
      predictions[r] = is_positive(raw) ? 1 : 0;
      return fault;
    });
  }

 public:
  // The state: the floats of every slot and of the constant feature, the scalars, the common factor, and the running total of
  // the masses. The weights are computed from it.
  void copy_state(float* to) const {
    for (std::size_t i = 0; i < slots_.size(); ++i, to += floats) copy_floats(slots_.data()[i], to);
  }
  void copy_bias(float* to) const { copy_floats(bias_, to); }
  void copy_z(float* to) const {
    for (std::size_t i = 0; i < slots_.size(); ++i) to[i] = slots_.data()[i].sum();
  }
  float bias_z() const { return bias_.sum(); }
  // The weights with which predictions are made, and that of the constant feature.
  void copy_weights(double* to) const {
    for (std::size_t i = 0; i < slots_.size(); ++i) to[i] = weight_of(slots_.data()[i]);
  }
  double bias_weight() const { return weight_of(bias_); }
  std::vector<double> scalars() const {
    if constexpr (Scalars<Rule>)
      return {rule_.scalars.begin(), rule_.scalars.end()};
    else
      return {};
  }
  // `values` has as many numbers as `scalars` returns.
  void set_scalars([[maybe_unused]] const std::vector<double>& values) {
    if constexpr (Scalars<Rule>) rule_.set_scalars(values.data());
  }
  double factor() const {
    if constexpr (requires { rule_.shift; })
      return rule_.shift;
    else if constexpr (requires { rule_.scale; })
      return rule_.scale;
    else
      return 0;
  }
  const Total& total() const { return total_; }
  double peak() const { return peak_; }

  void restore(const float* state, std::size_t slots, const float* bias, double factor, Total total, double peak) {
    make_slots(slots);
    if constexpr (requires { rule_.floor; }) rule_.floor = std::exp(-factor);
    if constexpr (requires { rule_.shift; }) rule_.shift = factor;
    if constexpr (requires { rule_.scale; }) rule_.scale = factor;
    memo_.clear();
    for (std::size_t i = 0; i < slots; ++i, state += floats) set_floats(slots_.data()[i], state);
    set_floats(bias_, bias);
    recompute_weights();
    recompute_total();
    const double summed = total_.value();
    total_ = total;
    peak_ = peak;
    // If masses overflow, the stored total may have any value. Otherwise it must be the sum of the masses up to rounding,
    // which is small compared with the largest total since the last rescaling (see learn).
    const double most = std::max({std::fabs(summed), peak, smallest_total});
    total_fits_ = !std::isfinite(summed) || std::fabs(total.value() - summed) <= 1e-6 * most;
  }
  // Whether the restored total is the sum of the masses of the restored weights.
  bool total_fits() const { return total_fits_; }

 private:
  void make_slots(std::size_t slots) {  // the caller must update the total
    const std::size_t before = slots_.size();
    slots_.resize(slots);
    if constexpr (Stateful<Rule>) {
      std::fill(slots_.data() + std::min(before, slots), slots_.data() + slots, Slot{});
    } else if constexpr (!Rule::identity) {
      if (const float w = weight(0); w != 0) std::fill(slots_.data() + before, slots_.data() + slots, Slot{w, 0});
    }
  }

  static void copy_floats(const Slot& slot, float* to) {
    if constexpr (Stateful<Rule>)
      std::memcpy(to, &slot, sizeof slot);
    else
      *to = slot.sum();
  }
  static void set_floats(Slot& slot, const float* from) {
    if constexpr (Stateful<Rule>)
      std::memcpy(static_cast<void*>(&slot), from, sizeof slot);
    else
      slot.sum() = *from;
  }

  static constexpr std::size_t cache_bytes = std::size_t{1} << 20;  // prefetch if the weights are larger
  static constexpr int largest_memo = 256;

  float weight(float z) {
    if constexpr (Rule::identity) return z;
    // The links of small integers z, which occur with 0/1 and ±1 data, are kept in a table.
    if (std::fabs(z) <= largest_memo && z == std::trunc(z)) {
      if (memo_.empty()) memo_.assign(2 * largest_memo + 1, std::numeric_limits<float>::quiet_NaN());
      float& memo = memo_[static_cast<std::size_t>(static_cast<int>(z) + largest_memo)];
      if (std::isnan(memo)) memo = static_cast<float>(rule_.link(z));
      return memo;
    }
    return static_cast<float>(rule_.link(z));
  }

  // Whether the round causes an update. `is_normalised`: whether `raw` was already divided by the normaliser.
  template <class Index, class Value>
  bool must_update([[maybe_unused]] const Row<Index, Value>& x, double raw, std::int8_t label, bool mistaken,
                   [[maybe_unused]] bool is_normalised) const {
    if constexpr (requires { rule_.decides(raw, label); }) return rule_.decides(gathered(x, rule_.step(raw, label)), label);
    if constexpr (requires { rule_.must_update(raw, label, mistaken); }) return rule_.must_update(raw, label, mistaken);
    if (mistaken) return true;
    if (settings_.update_margin <= 0) return false;
    double limit = settings_.update_margin;
    if constexpr (Rule::normalised)
      if (!is_normalised) limit *= rule_.normaliser(total_.value());
    return label * raw <= limit;
  }

  // Σ gather over the non-zeros, in the order of sum.hpp.
  template <class Index, class Value, class Step>
  double gathered(const Row<Index, Value>& x, const Step& step) const {
    Lanes lanes;
    for (std::size_t k = 0; k < x.size; ++k)
      lanes.lane[k % lane_count] += rule_.gather(slots_.data()[x.index[k]], static_cast<double>(x.value[k]), step);
    if (settings_.bias != 0) lanes.lane[x.size % lane_count] += rule_.gather(bias_, settings_.bias, step);
    return lanes.total();
  }

  // The score of a rule with scalars. `slot_of(k)` is the slot of non-zero k.
  template <class Index, class Value, class SlotOf>
  double computed(const Row<Index, Value>& x, SlotOf slot_of) const {
    Lanes lanes, second;
    bool finite = true;  // a rule may ignore the value of a feature
    const auto add = [&](std::size_t k, const Slot& slot, double value) {
      const double w = rule_.weight(slot);
      finite &= std::isfinite(value);
      lanes.lane[k % lane_count] += rule_.term(w, value);
      if constexpr (requires { rule_.second_term(w); }) second.lane[k % lane_count] += rule_.second_term(w);
    };
    for (std::size_t k = 0; k < x.size; ++k) add(k, slot_of(k), static_cast<double>(x.value[k]));
    if (settings_.bias != 0) add(x.size, bias_, settings_.bias);
    const std::size_t features = x.size + (settings_.bias != 0 ? 1 : 0);
    return finite ? rule_.score(lanes.total(), second.total(), features) : std::numeric_limits<double>::quiet_NaN();
  }

  template <class Index, class Value>
  void learn(const Row<Index, Value>& x, [[maybe_unused]] double raw, std::int8_t label, [[maybe_unused]] double of_row) {
    if constexpr (Stepping<Rule>) {
      auto step = rule_.step(raw, label);
      if constexpr (requires { rule_.complete(step, raw); }) rule_.complete(step, gathered(x, step));
      if constexpr (Weighted<Rule>) rule_.weigh(step, of_row);
      const auto move = [&](Slot& slot, double value) {
        rule_.apply(slot, value, step);
        if constexpr (!Rule::identity) slot.w = weight(slot.sum());
      };
      for (std::size_t k = 0; k < x.size; ++k) move(slots_.data()[x.index[k]], static_cast<double>(x.value[k]));
      if (settings_.bias != 0) move(bias_, settings_.bias);
    } else {
      add(x, label);
    }
  }

  // z += y·x, for the rules that keep only z.
  template <class Index, class Value>
  void add(const Row<Index, Value>& x, std::int8_t label) {
    const double d = label;
    Slot* const slots = slots_.data();
    Lanes new_masses, old_masses;
    if constexpr (Rule::identity) {
      // If x is float32, add in float32: a sum of two float32 numbers rounds to the same float32 also through float64.
      const auto y = static_cast<Value>(label);
#pragma GCC unroll 8  // most rows are short, and the end of a short loop is mispredicted
      for (std::size_t k = 0; k < x.size; ++k) {
        float& z = slots[x.index[k]].w;
        z = static_cast<float>(static_cast<Value>(z) + y * x.value[k]);
      }
    } else {
      for (std::size_t k = 0; k < x.size; ++k) {
#ifdef MISTAKEBOUND_X86
        if constexpr (std::is_same_v<Rule, BalancedWinnow> && std::is_same_v<Index, std::int32_t>) {
          const bool in_range = settings_.avx2 && rule_.shift <= Sinh::largest && std::isfinite(rule_.eta);
          if (k == 0 && in_range) k = update_row(rule_, x, d, slots, new_masses, old_masses);
          if (k % 4 == 0 && in_range) k = update_fours(rule_, x, k, d, slots, new_masses, old_masses);
          if (k == x.size) break;
        }
#endif
        add_to_slot(slots[x.index[k]], d * static_cast<double>(x.value[k]), new_masses.lane[k % lane_count],
                    old_masses.lane[k % lane_count]);
      }
    }
    const std::size_t last = x.size % lane_count;
    if (settings_.bias != 0) add_to_slot(bias_, d * settings_.bias, new_masses.lane[last], old_masses.lane[last]);
    if constexpr (Rule::normalised) {
      total_.add(new_masses.total());
      total_.add(-old_masses.total());
      const double total = total_.value();
      peak_ = std::max(peak_, total);
      if (!(total >= smallest_total && total <= largest_total && total >= largest_fall * peak_)) rescale();
    }
  }

  void add_to_slot(Slot& slot, double by, [[maybe_unused]] double& new_mass, [[maybe_unused]] double& old_mass) {
    if constexpr (Rule::normalised) old_mass += rule_.mass(slot.w, slot.sum());
    slot.sum() = static_cast<float>(static_cast<double>(slot.sum()) + by);
    slot.w = weight(slot.sum());
    if constexpr (Rule::normalised) new_mass += rule_.mass(slot.w, slot.sum());
  }

  // Within these limits float32 weights do not overflow, and the running total keeps its precision (see Total in sum.hpp).
  static constexpr double smallest_total = 1e-30, largest_total = 1e30, largest_fall = 1e-6;

  void rescale() {
    if constexpr (Rule::normalised) {
      if (slots_.size() == 0 && settings_.bias == 0) return;  // there are no features yet
      double top = settings_.bias != 0 ? size_of(bias_.sum()) : -std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < slots_.size(); ++i) top = std::max(top, size_of(slots_.data()[i].z));
      rule_.rescale(top);
      memo_.clear();
      recompute_weights();
      recompute_total();
    }
  }
  static double size_of(float z) { return Rule::top_is_absolute ? std::fabs(z) : z; }

  void recompute_weights() {
    if constexpr (!Rule::identity)
      for (std::size_t i = 0; i < slots_.size(); ++i) slots_.data()[i].w = weight(slots_.data()[i].z);
    if constexpr (!Scalars<Rule>) bias_.w = weight(bias_.sum());
  }

  void recompute_total() {
    if constexpr (Rule::normalised) {
      total_ = {};
      for (std::size_t i = 0; i < slots_.size(); ++i) add_mass(rule_.mass(slots_.data()[i].w, slots_.data()[i].z));
      if (settings_.bias != 0) add_mass(rule_.mass(bias_.w, bias_.sum()));
      peak_ = total_.value();
    }
  }
  void add_mass(double mass) { total_.add(mass); }

  template <class Index, class Value>
  Fault check_binary(const Row<Index, Value>& x, std::size_t& at) const {
    bool binary = true;
    for (std::size_t k = 0; k < x.size; ++k) binary &= (x.value[k] == 0) | (x.value[k] == 1);
    if (binary) [[likely]]
      return Fault::none;
    for (at = 0; x.value[at] == 0 || x.value[at] == 1;) ++at;
    return std::isfinite(static_cast<double>(x.value[at])) ? Fault::not_binary : Fault::not_finite;
  }

  // Score a row with features beyond the width. Their weight is link(0). If link(0) overflows with the current common factor,
  // use the factor that `resize` would choose. The other features are then negligible in the normaliser.
  template <class Index, class Value>
  Fault score_beyond(const Row<Index, Value>& x, double& raw, double& reported, std::size_t& at) {
    if constexpr (Scalars<Rule>) {
      const Slot unknown{};
      raw = reported = computed(x, [&](std::size_t k) -> const Slot& {
        const auto i = static_cast<std::size_t>(x.index[k]);
        return i < settings_.width ? slots_.data()[i] : unknown;
      });
      return checked(x, raw, at);
    } else {
      return score_beyond_with_link(x, raw, reported, at);
    }
  }
  template <class Index, class Value>
  Fault score_beyond_with_link(const Row<Index, Value>& x, double& raw, double& reported, std::size_t& at) {
    Rule rule = rule_;
    const bool room = std::isfinite(weight(0));
    if constexpr (Rule::normalised)
      if (!room) rule.rescale(0);
    const auto weigh = [&](float z, float w) { return room ? w : static_cast<float>(rule.link(z)); };
    std::vector<WeightOnly> w(x.size);
    std::vector<Index> place(x.size);
    for (std::size_t k = 0; k < x.size; ++k) {
      const auto i = static_cast<std::size_t>(x.index[k]);
      w[k].w = i < settings_.width ? weigh(slots_.data()[i].sum(), slots_.data()[i].w) : weigh(0, weight(0));
      place[k] = static_cast<Index>(k);
    }
    const double bias = settings_.bias != 0 ? static_cast<double>(weigh(bias_.sum(), bias_.w)) * settings_.bias : 0.0;
    const Row<Index, Value> row{place.data(), x.value, x.size};
    dot_portable<false>(Weights<WeightOnly>{w.data(), w.size()}, row, bias, raw);
    reported = normalised(raw);
    if constexpr (Rule::normalised)
      if (!room) reported = raw / rule.normaliser(static_cast<double>(x.beyond) * rule.mass(rule.link(0), 0));
    return checked(x, raw, at);
  }

  double weight_of(const Slot& slot) const {
    if constexpr (Scalars<Rule>)
      return rule_.weight(slot);
    else
      return static_cast<double>(slot.w);
  }
  double bias_term() const { return settings_.bias != 0 ? static_cast<double>(bias_.w) * settings_.bias : 0.0; }

  template <class Index, class Value>
  bool dot(const Row<Index, Value>& x, double extra, double& raw) const {
    const Weights<Slot> w{slots_.data(), slots_.size()};
#ifdef MISTAKEBOUND_X86
    if constexpr (std::is_same_v<Index, std::int32_t>) {
      if (settings_.avx2) return x.ahead ? dot_avx2<true>(w, x, extra, raw) : dot_avx2<false>(w, x, extra, raw);
    }
#endif
    return x.ahead ? dot_portable<true>(w, x, extra, raw) : dot_portable<false>(w, x, extra, raw);
  }

  Rule rule_;
  Settings settings_;
  Table<Slot> slots_;
  Slot bias_{};
  Total total_;
  double peak_ = 0;
  bool total_fits_ = true;
  std::vector<float> memo_;
};

}  // namespace mistakebound
