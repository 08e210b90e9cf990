// The multiclass Perceptron: a weight vector for each class; the largest score predicts, and of equal scores the class that was seen
// first. src/mistakebound/rules/multiclass_perceptron.py is its specification in Python, which gives the same bits.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "memory/table.hpp"
#include "play/class_game.hpp"
#include "play/example.hpp"
#include "play/panel_play.hpp"
#include "play/rows.hpp"
#include "play/sum.hpp"
#include "play/values.hpp"

namespace mistakebound {

class ClassPerceptron final : public ClassGame {
 public:
  // Repeated names are summed first, as in other rows.
  static constexpr bool binary = false, computes_weights = true;
  static constexpr std::string_view id = "multiclass-perceptron";
  using ByIndex = PanelPlay::ByIndex;

  explicit ClassPerceptron(const Settings& settings) : settings_(settings) { resize(settings.named ? 1 : settings.width); }

  const Settings& settings() const { return settings_; }
  std::size_t slots() const { return slots_; }
  std::size_t classes() const override { return classes_; }
  std::int64_t first_seen() const override { return static_cast<std::int64_t>(classes_); }
  std::int64_t overrides() const override { return 0; }
  void use_avx2(bool avx2) { settings_.avx2 = avx2; }
  // Reserve a power of two, because the number of features grows row by row.
  void reserve(std::size_t slots) {
    if (slots > slots_) weights_.reserve(std::bit_ceil(slots) * stride_);
  }
  void resize(std::size_t slots) {
    weights_.resize(slots * stride_);
    slots_ = slots;
  }
  void widen(std::size_t width) {
    if (width <= settings_.width) return;
    reserve(width);
    resize(width);
    settings_.width = width;
  }
  bool large() const { return false; }  // rows are not prefetched: each takes many cache lines
  void fetch(std::int32_t) const {}
  bool is_positive(double) const { return false; }
  double normalised(double score) const { return score; }

  // Check a row, predict it, learn it. A round without a prediction, such as the first of all, changes no weight.
  template <class Index, class Value, class Prepare, class TokenOf>
  Fault add(const Row<Index, Value>& x, std::size_t& at, Prepare prepare, TokenOf) {
    if (labels_.label == nullptr) throw std::logic_error("a learner of several classes needs labels of classes");
    if (labels_.weight != nullptr && *labels_.weight != 1) throw std::invalid_argument("the multiclass Perceptron has no sample weights");
    const std::int32_t label = *labels_.label;
    if (label < 0 || static_cast<std::size_t>(label) > classes_) return Fault::label;
    if (const Fault fault = learnable_below(x, slots_, at); fault != Fault::none) return fault;
    const std::int32_t best = predict(x);
    if (!finite()) return at = x.size, Fault::overflow;
    const std::int64_t delay = earlier_class ? record.updates - earlier_class->updates : 0;
    const std::int32_t made = earlier_class ? earlier_class->prediction : best;
    if (made < -1 || (made >= 0 && static_cast<std::size_t>(made) >= classes_) || delay < 0)
      throw std::invalid_argument("the earlier prediction does not fit the learner");
    const bool update = made != label && made >= 0;
    if (update) {
      record.make_room(x.size);
      of_classes.make_room_to_keep();
    } else {
      record.make_room_for_rounds();
    }
    of_classes.make_room(label, made, record.limit_bytes);
    if (update) prepare();
    if (static_cast<std::size_t>(label) == classes_) add_class();
    if (update) {
      record.keep(x, settings_.named ? 1 : 0, true, true);
      if (record.keeping) of_classes.keep(label, made);
      if (delay > 0) record.keep_delay(delay);
      move<+1>(x, label);
      move<-1>(x, made);
    }
    record.count(made != label, false, update);
    of_classes.count(label, made, record.limit_bytes);
    *labels_.prediction++ = made;
    ++labels_.label;
    if (labels_.log_probability != nullptr) *labels_.log_probability++ = 0;
    if (labels_.confidence != nullptr) *labels_.confidence++ = best < 0 ? 0 : scores_[static_cast<std::size_t>(best)];
    if (labels_.weight != nullptr) ++labels_.weight;
    return Fault::none;
  }
  template <class Index, class Value, class Prepare, class TokenOf>
  Fault round(const Row<Index, Value>& x, std::int8_t, bool&, std::size_t& at, Prepare prepare, TokenOf token_of) {
    return add(x, at, prepare, token_of);
  }

  // Predict one row without learning. A feature that is not in the tables has the weight 0. The score of a new label is 0.
  template <class Index, class Value, class TokenOf>
  Fault score(const Row<Index, Value>& x, double&, std::size_t& at, TokenOf) {
    if (labels_.probability == nullptr) throw std::logic_error("a learner of several classes has a score for each class");
    if (const Fault fault = learnable_below(x, slots_ + x.beyond, at); fault != Fault::none) return fault;
    const std::int32_t best = predict(x);
    if (!finite()) return at = x.size, Fault::overflow;
    *labels_.prediction++ = best;
    labels_.probability = std::copy(scores_.begin(), scores_.end(), labels_.probability);
    *labels_.probability++ = 0;
    return Fault::none;
  }

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

  // The weights of each slot, a float for each class; and of the constant feature.
  std::vector<float> weights() const {
    std::vector<float> all(slots_ * classes_);
    for (std::size_t i = 0; i < slots_; ++i) std::copy_n(weights_.data() + i * stride_, classes_, all.data() + i * classes_);
    return all;
  }
  const std::vector<float>& bias() const { return bias_; }
  // Throws std::invalid_argument unless there is a number for each feature and class. It is called for a new learner.
  void restore(const std::vector<float>& weights, const std::vector<float>& bias, std::size_t features) {
    const std::size_t classes = bias.size();
    if (weights.size() != features * classes) throw std::invalid_argument("there must be a weight for each feature and class");
    resize(features);
    while (classes_ < classes) add_class();
    for (std::size_t i = 0; i < features; ++i) std::copy_n(weights.data() + i * classes, classes, weights_.data() + i * stride_);
    bias_ = bias;
  }

 private:
  static constexpr std::size_t first_stride = 4;

  // Compute the score of each class in the order of sum.hpp. Return the class with the largest one, -1 if there is no class.
  template <class Index, class Value>
  std::int32_t predict(const Row<Index, Value>& x) {
    const std::size_t count = classes_;
    lanes_.assign(lane_count * count, 0.0);
    scores_.resize(count);
    const auto add = [&](std::size_t k, const float* w, double value) {
      double* const lane = lanes_.data() + k % lane_count * count;
      for (std::size_t r = 0; r < count; ++r) lane[r] += static_cast<double>(w[r]) * value;
    };
    for (std::size_t k = 0; k < x.size; ++k)
      if (const auto i = static_cast<std::size_t>(x.index[k]); i < slots_) add(k, weights_.data() + i * stride_, static_cast<double>(x.value[k]));
    if (settings_.bias != 0) add(x.size, bias_.data(), settings_.bias);
    std::int32_t best = -1;
    for (std::size_t r = 0; r < count; ++r) {
      Lanes lanes;
      for (std::size_t j = 0; j < lane_count; ++j) lanes.lane[j] = lanes_[j * count + r];
      scores_[r] = lanes.total();
      if (best < 0 || scores_[r] > scores_[static_cast<std::size_t>(best)]) best = static_cast<std::int32_t>(r);
    }
    return best;
  }
  bool finite() const {
    return std::all_of(scores_.begin(), scores_.end(), [](double score) { return std::isfinite(score); });
  }

  template <int sign, class Index, class Value>
  void move(const Row<Index, Value>& x, std::int32_t label) {
    const auto r = static_cast<std::size_t>(label);
    for (std::size_t k = 0; k < x.size; ++k) {
      float& w = weights_.data()[static_cast<std::size_t>(x.index[k]) * stride_ + r];
      w = static_cast<float>(static_cast<double>(w) + sign * static_cast<double>(x.value[k]));
    }
    if (settings_.bias != 0) bias_[r] = static_cast<float>(static_cast<double>(bias_[r]) + sign * settings_.bias);
  }

  // Memory is allocated before anything changes.
  void add_class() {
    bias_.reserve(classes_ + 1);
    if (classes_ == stride_) {
      const std::size_t stride = std::max(first_stride, 2 * stride_);
      Table<float> wider;
      wider.resize(slots_ * stride);
      for (std::size_t i = 0; i < slots_; ++i)
        if (classes_ > 0) std::memcpy(wider.data() + i * stride, weights_.data() + i * stride_, classes_ * sizeof(float));
      weights_.swap(wider);
      stride_ = stride;
    }
    bias_.push_back(0);
    ++classes_;
  }

  Settings settings_;
  std::size_t slots_ = 0, classes_ = 0, stride_ = 0;  // each slot has room for `stride_` classes
  Table<float> weights_;
  std::vector<float> bias_;
  std::vector<double> scores_, lanes_;
};

}  // namespace mistakebound
