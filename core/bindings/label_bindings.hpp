// Python bindings of panels of several labels that learn from the same rows.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/lock.hpp"
#include "bindings/read_bindings.hpp"
#include "play/engine.hpp"

namespace mistakebound {

// `Locked`: an engine with a lock.
template <class Locked>
class LabelBindings {
  using Panels = std::vector<Locked*>;
  // A row of the matrix for each label.
  using Labels = nb::ndarray<const std::int8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  using Predictions = nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

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
        .def("play_chunk_labels", &play_chunk, "panels"_a, "chunk"_a, "first"_a, "y"_a.noconvert(), "predictions"_a.noconvert(), "two_threads"_a)
        .def("add_label", &add_label, "panel"_a, "is_first"_a);
  }

 private:
  static void add_label(Locked& self, Locked& label, bool is_first) {
    const auto lock = self.take();
    const auto of_label = label.take();
    self.engine().add_label(label.engine(), is_first);
  }

  // Play rounds for all labels, under the locks of all of them and without the GIL. Return (row, fault).
  template <class Rounds>
  static nb::tuple play(Locked& self, const Panels& panels, const Labels& y, Predictions& predictions, std::size_t rows, bool two_threads, Rounds rounds) {
    if (y.shape(0) != panels.size() || y.shape(1) != rows || predictions.shape(0) != panels.size() || predictions.shape(1) != rows)
      throw nb::value_error("y and predictions must have a row for each panel, with an entry for each example");
    const auto lock = self.take();
    if (self.engine().panel() == nullptr || self.engine().panel()->shared_core() == nullptr)
      throw nb::value_error("this engine does not read rows for several labels");
    std::vector<std::unique_lock<std::mutex>> locks;
    std::deque<Lock::Changing> changing;
    std::vector<Engine*> engines;
    for (Locked* const panel : panels) {
      if (panel == &self) throw nb::value_error("an engine cannot read rows for itself");
      for (const Engine* const other : engines)
        if (other == &panel->engine()) throw nb::value_error("each panel must occur once");
      locks.push_back(panel->take());
      changing.emplace_back(panel->lock());
      engines.push_back(&panel->engine());
      if (!panel->engine().is_shared() || &panel->engine().names() != &self.engine().names())
        throw nb::value_error("the panel of a label must be added first");
    }
    Stop stop;
    self.without_gil([&] {
      Engine::UseLabels use(self.engine(), engines, y.data(), rows, predictions.data(), two_threads);
      const std::vector<std::int8_t> of_rows(rows, 1);
      std::vector<std::uint8_t> unused(rows);
      stop = rounds(of_rows.data(), unused.data());
      use.finish();
    });
    return nb::make_tuple(stop.row, Locked::fault_of(stop));
  }

  static nb::tuple play_chunk(Locked& self, const Panels& panels, const HeldParsed& parsed, std::size_t first, const Labels& y, Predictions predictions,
                              bool two_threads) {
    const std::size_t rows = y.shape(1);
    if (parsed.named != self.engine().settings().named || first > parsed.chunk.rows() || rows > parsed.chunk.rows() - first)
      throw nb::value_error("the chunk must be of the kind of the engine (named or not), and have a row for each label");
    return play(self, panels, y, predictions, rows, two_threads, [&](const std::int8_t* of_rows, std::uint8_t* unused) {
      return self.engine().play(parsed.chunk, first, rows, of_rows, unused);
    });
  }

  template <class Index, class Value>
  static void add_csr(nb::class_<Locked>& engine) {
    using namespace nb::literals;
    engine.def(
        "play_csr_labels",
        [](Locked& self, const Panels& panels, Array<std::int64_t> indptr, Array<Index> index, Array<Value> value, Labels y, Predictions predictions,
           bool two_threads) {
          const auto batch = self.csr(indptr, index, value);
          return play(self, panels, y, predictions, static_cast<std::size_t>(batch.rows), two_threads,
                      [&](const std::int8_t* of_rows, std::uint8_t* unused) { return self.engine().play(batch, of_rows, unused); });
        },
        "panels"_a, "indptr"_a.noconvert(), "index"_a.noconvert(), "value"_a.noconvert(), "y"_a.noconvert(), "predictions"_a.noconvert(),
        "two_threads"_a);
  }
  template <class Value>
  static void add_dense(nb::class_<Locked>& engine) {
    using namespace nb::literals;
    engine.def(
        "play_dense_labels",
        [](Locked& self, const Panels& panels, Matrix<Value> x, Labels y, Predictions predictions, bool two_threads) {
          const auto batch = self.dense(x);
          return play(self, panels, y, predictions, static_cast<std::size_t>(batch.rows), two_threads,
                      [&](const std::int8_t* of_rows, std::uint8_t* unused) { return self.engine().play(batch, of_rows, unused); });
        },
        "panels"_a, "x"_a.noconvert(), "y"_a.noconvert(), "predictions"_a.noconvert(), "two_threads"_a);
  }
};

}  // namespace mistakebound
