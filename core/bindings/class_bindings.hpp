// Python bindings of learners of several classes: functions of the engine whose labels are numbers of classes.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/class_state.hpp"
#include "bindings/read_bindings.hpp"
#include "play/engine.hpp"

namespace mistakebound {

using OutputMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// `Locked`: an engine with a lock.
template <class Locked>
class ClassBindings {
  using Labels = Array<std::int32_t>;
  using Predictions = Output<std::int32_t>;
  using Logs = std::optional<Output<double>>;
  using Weights = std::optional<Array<double>>;

 public:
  static void bind(nb::class_<Locked>& engine) {
    using namespace nb::literals;
    add_csr<std::int32_t, float>(engine);
    add_csr<std::int32_t, double>(engine);
    add_csr<std::int64_t, float>(engine);
    add_csr<std::int64_t, double>(engine);
    add_dense<float>(engine);
    add_dense<double>(engine);
    engine
        .def("play_chunk_classes", &play_chunk, "chunk"_a, "labels"_a.noconvert(), "first"_a, "predictions"_a.noconvert(),
             "log_probabilities"_a.noconvert() = nb::none(), "weights"_a.noconvert() = nb::none(), "confidences"_a.noconvert() = nb::none())
        .def("score_chunk_classes", &score_chunk, "chunk"_a, "out"_a.noconvert(), "predictions"_a.noconvert())
        .def("learn_named_class", &learn_named, "x"_a, "label"_a, "weight"_a = 1.0)
        .def("score_named_class", &score_named, "x"_a)
        .def("tell_named_class", &tell_named, "x"_a, "label"_a, "prediction"_a, "confidence"_a, "probability"_a, "brier"_a, "updates"_a,
             "weight"_a = 1.0)
        .def("tell_csr_classes", &tell_csr, "indptr"_a.noconvert(), "index"_a.noconvert(), "value"_a.noconvert(), "label"_a, "prediction"_a,
             "confidence"_a, "probability"_a, "brier"_a, "updates"_a, "weight"_a = 1.0)
        .def("class_count", [](Locked& self) {
          const auto lock = self.take();
          return classes_of(self).classes();
        })
        .def("class_advice", &advice)
        .def("class_record", &record)
        .def("class_predictions", [](Locked& self, std::size_t first, std::size_t last) {
          const auto lock = self.take();
          return to_numpy(classes_of(self).of_classes.predictions, first, last);
        }, "first"_a, "last"_a)
        .def("kept_classes", [](Locked& self, std::size_t first, std::size_t last) {
          const auto lock = self.take();
          const ClassRecord& record = classes_of(self).of_classes;
          return nb::make_tuple(to_numpy(record.kept_label, first, last), to_numpy(record.kept_prediction, first, last));
        }, "first"_a, "last"_a)
        .def("class_weights", &class_weights)
        .def("convert_to_classes", &convert, "negative_id"_a, "positive_id"_a);
  }

 private:
  static ClassGame& classes_of(Locked& self) {
    if (self.engine().class_game() == nullptr) throw nb::value_error("this engine is not a learner of several classes");
    return *self.engine().class_game();
  }
  static ClassLabels labels_of(const Labels& labels, Predictions& predictions, Logs& logs, const Weights& weights, Logs& confidences,
                               std::size_t rows) {
    if (labels.size() != rows || predictions.size() != rows || (logs && logs->size() != rows) || (weights && weights->size() != rows) ||
        (confidences && confidences->size() != rows))
      throw nb::value_error("labels, predictions, log_probabilities, weights and confidences must have one entry per row");
    ClassLabels made{labels.data(), predictions.data()};
    made.log_probability = logs ? logs->data() : nullptr;
    made.confidence = confidences ? confidences->data() : nullptr;
    made.weight = weights ? weights->data() : nullptr;
    return made;
  }

  // Play or score rows under the lock and without the GIL. Return (row, fault).
  template <class Rounds>
  static nb::tuple run(Locked& self, const ClassLabels& labels, Rounds rounds) {
    Stop stop;
    const auto lock = self.take();
    ClassGame& play = classes_of(self);
    const ClassGame::UseLabels use(play, labels);
    self.without_gil([&] { stop = rounds(); });
    return nb::make_tuple(stop.row, stop.fault == Fault::none ? nb::none() : nb::cast(stop));
  }
  template <class Batch>
  static nb::tuple play(Locked& self, const Batch& batch, const ClassLabels& labels) {
    return run(self, labels, [&] { return self.engine().play(batch, nullptr, nullptr); });
  }
  template <class Scores>
  static nb::tuple score(Locked& self, std::size_t rows, OutputMatrix& out, Predictions& predictions, Scores scores) {
    {
      const auto lock = self.take();
      if (predictions.size() != rows || out.shape(0) != rows || out.shape(1) != classes_of(self).classes() + 1)
        throw nb::value_error("predictions must have one entry per row, and out one row per row with a place for each class and the new label");
    }
    ClassLabels labels;
    labels.prediction = predictions.data(), labels.probability = out.data();
    const std::size_t width = out.shape(1);
    return run(self, labels, [&] {
      if (self.engine().class_game()->classes() + 1 != width) throw std::invalid_argument("another thread added a class meanwhile");
      return scores();
    });
  }

  template <class Index, class Value>
  static void add_csr(nb::class_<Locked>& engine) {
    using namespace nb::literals;
    engine.def(
        "play_csr_classes",
        [](Locked& self, Array<std::int64_t> indptr, Array<Index> index, Array<Value> value, Labels labels, Predictions predictions, Logs logs,
           Weights weights, Logs confidences) {
          const auto batch = self.csr(indptr, index, value);
          return play(self, batch, labels_of(labels, predictions, logs, weights, confidences, static_cast<std::size_t>(batch.rows)));
        },
        "indptr"_a.noconvert(), "index"_a.noconvert(), "value"_a.noconvert(), "labels"_a.noconvert(), "predictions"_a.noconvert(),
        "log_probabilities"_a.noconvert() = nb::none(), "weights"_a.noconvert() = nb::none(), "confidences"_a.noconvert() = nb::none());
    engine.def(
        "score_csr_classes",
        [](Locked& self, Array<std::int64_t> indptr, Array<Index> index, Array<Value> value, OutputMatrix out, Predictions predictions) {
          const auto batch = self.csr(indptr, index, value);
          return score(self, static_cast<std::size_t>(batch.rows), out, predictions, [&] { return self.engine().scores(batch, nullptr, nullptr); });
        },
        "indptr"_a.noconvert(), "index"_a.noconvert(), "value"_a.noconvert(), "out"_a.noconvert(), "predictions"_a.noconvert());
  }
  template <class Value>
  static void add_dense(nb::class_<Locked>& engine) {
    using namespace nb::literals;
    engine.def(
        "play_dense_classes",
        [](Locked& self, Matrix<Value> x, Labels labels, Predictions predictions, Logs logs, Weights weights, Logs confidences) {
          const auto batch = self.dense(x);
          return play(self, batch, labels_of(labels, predictions, logs, weights, confidences, static_cast<std::size_t>(batch.rows)));
        },
        "x"_a.noconvert(), "labels"_a.noconvert(), "predictions"_a.noconvert(), "log_probabilities"_a.noconvert() = nb::none(),
        "weights"_a.noconvert() = nb::none(), "confidences"_a.noconvert() = nb::none());
    engine.def(
        "score_dense_classes",
        [](Locked& self, Matrix<Value> x, OutputMatrix out, Predictions predictions) {
          const auto batch = self.dense(x);
          return score(self, static_cast<std::size_t>(batch.rows), out, predictions, [&] { return self.engine().scores(batch, nullptr, nullptr); });
        },
        "x"_a.noconvert(), "out"_a.noconvert(), "predictions"_a.noconvert());
  }

  static nb::tuple play_chunk(Locked& self, const HeldParsed& parsed, Labels labels, std::size_t first, Predictions predictions, Logs logs,
                              Weights weights, Logs confidences) {
    const std::size_t rows = labels.size();
    if (parsed.named != self.engine().settings().named || first > parsed.chunk.rows() || rows > parsed.chunk.rows() - first)
      throw nb::value_error("the chunk must be of the kind of the engine (named or not), and have a row for each label");
    return run(self, labels_of(labels, predictions, logs, weights, confidences, rows),
               [&] { return self.engine().play(parsed.chunk, first, rows, nullptr, nullptr); });
  }
  static nb::tuple score_chunk(Locked& self, const HeldParsed& parsed, OutputMatrix out, Predictions predictions) {
    const std::size_t rows = predictions.size();
    if (!parsed.named || rows > parsed.chunk.rows())
      throw nb::value_error("the chunk must have named examples, and a row for each prediction");
    return score(self, rows, out, predictions, [&] { return self.engine().scores(parsed.chunk, rows, nullptr, nullptr); });
  }

  // Predict, then learn. Returns the prediction.
  static std::int32_t learn(Locked& self, nb::handle x, std::int32_t label, double weight, const std::optional<EarlierClass>& earlier) {
    typename Locked::Borrowed example(self, x);
    const auto lock = self.take([&] { example->copy_names(); });
    std::int32_t prediction = -1;
    ClassLabels labels{&label, &prediction};
    labels.weight = &weight;
    const ClassGame::UseLabels use(classes_of(self), labels);
    const UseEarlierClass late(classes_of(self), earlier);
    bool positive = false;
    std::size_t at = 0;
    const Fault fault = self.engine().learn(*example, 0, positive, at);
    if (fault != Fault::none) Locked::throw_fault(fault, *example, at);
    return prediction;
  }
  static std::int32_t learn_named(Locked& self, nb::handle x, std::int32_t label, double weight) {
    return learn(self, x, label, weight, std::nullopt);
  }
  static EarlierClass earlier_of(std::int32_t prediction, double confidence, double probability, double brier, std::int64_t updates) {
    if (!(confidence >= 0 && confidence <= 1) || !(probability > 0 && probability <= 1) || !(brier >= 0 && brier <= 2))
      throw nb::value_error("confidence must be between 0 and 1, probability above 0 and at most 1, and brier between 0 and 2");
    return {prediction, confidence, std::fmax(probability, 1e-300), brier, updates};
  }
  static std::int32_t tell_named(Locked& self, nb::handle x, std::int32_t label, std::int32_t prediction, double confidence,
                                 double probability, double brier, std::int64_t updates, double weight) {
    return learn(self, x, label, weight, earlier_of(prediction, confidence, probability, brier, updates));
  }
  static nb::tuple tell_csr(Locked& self, Array<std::int64_t> indptr, Array<std::int64_t> index, Array<double> value, std::int32_t label,
                            std::int32_t prediction, double confidence, double probability, double brier, std::int64_t updates,
                            double weight) {
    const auto row = self.csr(indptr, index, value);
    if (row.rows != 1) throw nb::value_error("the matrix must have one row");
    const EarlierClass earlier = earlier_of(prediction, confidence, probability, brier, updates);
    std::int32_t made = -1;
    ClassLabels labels{&label, &made};
    labels.weight = &weight;
    return run(self, labels, [&] {
      const UseEarlierClass late(*self.engine().class_game(), earlier);
      return self.engine().play(row, nullptr, nullptr);
    });
  }
  // While an object of this class exists, rounds use an earlier prediction instead of a new one.
  class UseEarlierClass {
   public:
    UseEarlierClass(ClassGame& play, const std::optional<EarlierClass>& earlier) : play_(play) { play.earlier_class = earlier; }
    ~UseEarlierClass() { play_.earlier_class.reset(); }
    UseEarlierClass(const UseEarlierClass&) = delete;
    UseEarlierClass& operator=(const UseEarlierClass&) = delete;

   private:
    ClassGame& play_;
  };

  static nb::tuple score_named(Locked& self, nb::handle x) {
    typename Locked::Borrowed example(self, x);
    const auto lock = self.take([&] { example->copy_names(); });
    ClassGame& play = classes_of(self);
    std::vector<double> chances(play.classes() + 1);
    std::int32_t prediction = -1;
    ClassLabels labels;
    labels.prediction = &prediction, labels.probability = chances.data();
    const ClassGame::UseLabels use(play, labels);
    double score = 0;
    bool positive = false;
    std::size_t at = 0;
    const Fault fault = self.engine().score(*example, score, positive, at);
    if (fault != Fault::none) Locked::throw_fault(fault, *example, at);
    return nb::make_tuple(chances, prediction);
  }

  static nb::tuple advice(Locked& self) {
    const auto lock = self.take();
    if (self.engine().classes() == nullptr) throw nb::value_error("this engine is not a panel of several classes");
    const panel::ClassAdvice said = self.engine().classes()->core().advice();
    return nb::make_tuple(to_numpy(said.scores, 0, said.scores.size()), to_numpy(said.log_probabilities, 0, said.log_probabilities.size()));
  }

  static nb::dict record(Locked& self) {
    const auto lock = self.take();
    const ClassGame& play = classes_of(self);
    nb::dict all;
    all["rounds"] = play.record.rounds;
    all["mistakes"] = play.record.false_positives;
    all["first_seen"] = play.first_seen();
    all["overrides"] = play.overrides();
    all["measured"] = play.of_classes.measured;
    all["log_loss"] = play.of_classes.log_loss;
    all["brier"] = play.of_classes.brier;
    all["confusion"] = confusion_of(play.of_classes);
    return all;
  }

  // Of the multiclass Perceptron: the weights of each slot, a float for each class; and those of the constant feature.
  static nb::tuple class_weights(Locked& self) {
    const auto lock = self.take();
    if (self.engine().class_perceptron() == nullptr) throw nb::value_error("this engine is not a multiclass Perceptron");
    const std::vector<float> weights = self.engine().class_perceptron()->weights();
    const std::vector<float>& bias = self.engine().class_perceptron()->bias();
    return nb::make_tuple(to_numpy(weights, 0, weights.size()), to_numpy(bias, 0, bias.size()));
  }

  static nb::object convert(Locked& self, std::int32_t negative, std::int32_t positive) {
    const auto lock = self.take();
    Engine& from = self.engine();
    if (from.panel() == nullptr) throw nb::value_error("this engine is not a panel of two classes");
    Settings settings = from.settings();
    auto made = std::make_unique<Locked>(settings, from.record().limit_bytes);
    from.convert(made->engine(), negative, positive);
    return nb::cast(made.release(), nb::rv_policy::take_ownership);
  }
};

}  // namespace mistakebound
