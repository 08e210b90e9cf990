// The state and the record of a panel of several classes as a tuple of plain arrays, and back.
#pragma once
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "bindings/arrays.hpp"
#include "play/class_play.hpp"

namespace mistakebound {

// (label, prediction, rounds) of each pair that occurred.
inline nb::tuple confusion_of(const ClassRecord& record) {
  std::vector<std::int32_t> truth, predicted;
  std::vector<std::int64_t> rounds;
  for (const auto& [pair, count] : record.confusion) {
    if (count == 0) continue;
    truth.push_back(pair.first), predicted.push_back(pair.second), rounds.push_back(count);
  }
  return nb::make_tuple(to_numpy(truth, 0, truth.size()), to_numpy(predicted, 0, predicted.size()), to_numpy(rounds, 0, rounds.size()));
}

// Call `visit` with each array of a state, in the order of the tuple.
template <class State, class Visit>
void each_array(State& state, Visit visit) {
  for (auto* pairs : {&state.cells, &state.slots, &state.contexts}) visit(pairs->owners), visit(pairs->counts), visit(pairs->classes), visit(pairs->values);
  visit(state.features), visit(state.context_sizes), visit(state.numbers), visit(state.leads);
}

inline nb::tuple class_tuple(const panel::ClassState& state, const ClassRecord& record) {
  nb::list all;
  each_array(state, [&all](const auto& array) { all.append(to_numpy(array, 0, array.size())); });
  all.append(to_numpy(record.predictions, 0, record.predictions.size()));
  all.append(record.log_loss);
  all.append(record.brier);
  all.append(confusion_of(record));
  all.append(record.measured);
  return nb::tuple(all);
}

inline panel::ClassState class_state_of(const nb::tuple& parts) {
  constexpr std::size_t arrays = 16, of_record = 5;
  if (parts.size() != arrays + of_record) throw std::invalid_argument("the stored state has a wrong number of parts");
  panel::ClassState state;
  std::size_t next = 0;
  each_array(state, [&](auto& array) { assign(array, parts[next++]); });
  return state;
}

// The multiclass Perceptron: weights, those of the constant feature, the record as above, and the labels and predictions of the kept
// examples.
inline nb::tuple perceptron_tuple(const std::vector<float>& weights, const std::vector<float>& bias, const ClassRecord& record) {
  return nb::make_tuple(to_numpy(weights, 0, weights.size()), to_numpy(bias, 0, bias.size()),
                        to_numpy(record.predictions, 0, record.predictions.size()), record.log_loss, record.brier, confusion_of(record),
                        to_numpy(record.kept_label, 0, record.kept_label.size()), to_numpy(record.kept_prediction, 0, record.kept_prediction.size()));
}
inline void restore_kept(const nb::tuple& parts, std::size_t classes, ClassRecord& to) {
  assign(to.kept_label, parts[6]), assign(to.kept_prediction, parts[7]);
  const auto is_class = [classes](std::int32_t label) { return label >= 0 && static_cast<std::size_t>(label) < classes; };
  if (!std::all_of(to.kept_label.begin(), to.kept_label.end(), is_class) || to.kept_label.size() != to.kept_prediction.size() ||
      !std::all_of(to.kept_prediction.begin(), to.kept_prediction.end(), is_class))
    throw std::invalid_argument("the stored labels of the kept examples do not fit the classes");
}

// Four parts of the tuple from `first` on, which must fit the number of classes.
inline void restore_record(const nb::tuple& parts, std::size_t first, std::size_t classes, ClassRecord& to) {
  const auto limit = static_cast<std::int32_t>(classes);
  assign(to.predictions, parts[first]);
  const std::int32_t* const made = to.predictions.data();
  const auto is_prediction = [limit](std::int32_t label) { return label >= -1 && label < limit; };
  to.log_loss = nb::cast<double>(parts[first + 1]);
  to.brier = nb::cast<double>(parts[first + 2]);
  std::vector<std::int32_t> truth, predicted;
  std::vector<std::int64_t> rounds;
  const auto confusion = nb::cast<nb::tuple>(parts[first + 3]);
  assign(truth, confusion[0]), assign(predicted, confusion[1]), assign(rounds, confusion[2]);
  bool good = std::all_of(made, made + to.predictions.size(), is_prediction) && std::isfinite(to.log_loss) && std::isfinite(to.brier) &&
              predicted.size() == truth.size() && rounds.size() == truth.size();
  for (std::size_t k = 0; good && k < truth.size(); ++k) {
    good = truth[k] >= 0 && truth[k] < limit && is_prediction(predicted[k]) && rounds[k] >= 0;
    if (good) to.confusion[{truth[k], predicted[k]}] = rounds[k];
  }
  if (!good) throw std::invalid_argument("the stored record does not fit the classes");
}

}  // namespace mistakebound
