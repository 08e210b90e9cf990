// The only file that knows Python: an Engine is one rule's play, its names and its lock.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "names.hpp"
#include "play.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace mistakebound {
namespace {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using AnyPlay = std::variant<Play<Perceptron>, Play<Winnow>, Play<NormalizedWinnow>, Play<BalancedWinnow>, Play<PNorm>,
                             Play<Elimination>>;

template <class T>
nb::object to_numpy(const T* data, std::size_t size) {
  auto copy = std::make_unique<T[]>(size);
  std::copy(data, data + size, copy.get());
  T* raw = copy.release();
  nb::capsule owner(raw, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(raw, {size}, owner));
}
template <class T, class Memory>
nb::object to_numpy(const std::vector<T, Memory>& v, std::size_t first, std::size_t last) {
  last = std::min(last, v.size());
  first = std::min(first, last);
  return to_numpy(v.data() + first, last - first);
}

std::string words(nb::handle object) { return nb::cast<std::string>(nb::repr(object)); }

// One example with names, read from a dict, or from a set, list or tuple of names.
struct NamedExample {
  std::vector<std::string_view> name;
  std::vector<std::int32_t> slot;
  std::vector<double> value;
  std::deque<std::string> built;  // names made here: {k: "v"} is the feature k=v
  nb::object copied;              // keeps the names of a mapping that is no dict alive
  bool may_repeat = false;

  void read(nb::handle x) {
    name.clear(), slot.clear(), value.clear();
    if (!built.empty()) built.clear();
    may_repeat = false;
    if (!PyDict_Check(x.ptr()) && PyObject_HasAttrString(x.ptr(), "items")) {
      copied = nb::module_::import_("builtins").attr("dict")(x);
      x = copied;
    }
    if (PyDict_Check(x.ptr())) {
      Py_ssize_t at = 0;
      PyObject *key = nullptr, *v = nullptr;
      while (PyDict_Next(x.ptr(), &at, &key, &v)) read_item(key, v);
    } else if (nb::isinstance<nb::str>(x)) {
      throw nb::value_error("a single str is not an example: pass a list or set of names");
    } else {
      may_repeat = !PyAnySet_Check(x.ptr());
      for (nb::handle item : nb::iter(x)) {
        name.push_back(text(item));
        value.push_back(1.0);
      }
    }
  }

 private:
  static std::string_view text(nb::handle item) {
#ifndef Py_LIMITED_API
    if (PyUnicode_Check(item.ptr()) && PyUnicode_IS_COMPACT_ASCII(item.ptr())) [[likely]]
      return {static_cast<const char*>(PyUnicode_DATA(item.ptr())), static_cast<std::size_t>(PyUnicode_GET_LENGTH(item.ptr()))};
#endif
    Py_ssize_t size = 0;
    const char* data = PyUnicode_Check(item.ptr()) ? PyUnicode_AsUTF8AndSize(item.ptr(), &size) : nullptr;
    if (data == nullptr) {
      PyErr_Clear();
      throw nb::value_error(("feature names must be str (valid Unicode), got " + words(item)).c_str());
    }
    return {data, static_cast<std::size_t>(size)};
  }

  void read_item(PyObject* key, PyObject* v) {
    const std::string_view k = text(key);
    double number;
    if (PyFloat_Check(v)) [[likely]] {
#ifndef Py_LIMITED_API
      number = PyFloat_AS_DOUBLE(v);
#else
      number = PyFloat_AsDouble(v);
#endif
    } else if (PyUnicode_Check(v)) {
      built.push_back(std::string(k) + "=" + std::string(text(v)));
      name.push_back(built.back());
      value.push_back(1.0);
      may_repeat = true;  // {"a": "b", "a=b": 1} says it twice
      return;
    } else {
      nb::object as_float = nb::steal(PyNumber_Check(v) ? PyNumber_Float(v) : nullptr);
      if (!as_float.is_valid()) {
        PyErr_Clear();
        throw nb::value_error(("feature " + words(key) + " has the value " + words(v) +
                               ": a number, bool or str is needed (leave a missing one out)")
                                  .c_str());
      }
      number = PyFloat_AsDouble(as_float.ptr());
    }
    if (number == 0) return;  // not a non-zero
    name.push_back(k);
    value.push_back(number);
  }
};

class Engine {
  // Before the rest, for their return types are deduced.
  template <class Do>
  auto visit(Do work) {
    return std::visit(work, *play_);
  }
  template <class Do>
  auto visit(Do work) const {
    return std::visit(work, *play_);
  }
  Record& record() {
    return *visit([](auto& play) { return &play.record; });
  }
  const Record& record() const {
    return *visit([](const auto& play) { return &play.record; });
  }

 public:
  Engine(const std::string& rule, double parameter, double threshold, bool strict, double update_margin, double bias,
         bool named, std::size_t width, std::size_t limit_bytes) {
    Settings s{threshold, strict, update_margin, bias, rule == "elimination", named, width};
    if (rule == "perceptron")
      play_.emplace(std::in_place_type<Play<Perceptron>>, Perceptron{}, s);
    else if (rule == "winnow")
      play_.emplace(std::in_place_type<Play<Winnow>>, Winnow{parameter}, s);
    else if (rule == "normalized-winnow")
      play_.emplace(std::in_place_type<Play<NormalizedWinnow>>, NormalizedWinnow{parameter}, s);
    else if (rule == "balanced-winnow")
      play_.emplace(std::in_place_type<Play<BalancedWinnow>>, BalancedWinnow{parameter}, s);
    else if (rule == "pnorm")
      play_.emplace(std::in_place_type<Play<PNorm>>, PNorm{parameter}, s);
    else if (rule == "elimination")
      play_.emplace(std::in_place_type<Play<Elimination>>, Elimination{}, s);
    else
      throw nb::value_error(("unknown rule " + rule).c_str());
    record().limit_bytes = limit_bytes;
    settings_ = nb::make_tuple(rule, parameter, threshold, strict, update_margin, bias, named, width, limit_bytes);
  }

  template <class Batch>
  nb::tuple play_batch(const Batch& batch, const Array<std::int8_t>& y, Output<std::uint8_t>& predictions) {
    if (y.size() != static_cast<std::size_t>(batch.rows) || predictions.size() != y.size())
      throw nb::value_error("y and predictions need one entry a row");
    Stop stop{0};
    {
      nb::gil_scoped_release release;
      std::scoped_lock lock(mutex_);
      stop = visit([&](auto& play) { return play.play(batch, y.data(), predictions.data()); });
    }
    return nb::make_tuple(stop.row, static_cast<int>(stop.fault), stop.position);
  }

  template <class Batch>
  nb::tuple score_batch(const Batch& batch, Output<double>& out, Output<std::uint8_t>& predictions) {
    if (out.size() != static_cast<std::size_t>(batch.rows) || predictions.size() != out.size())
      throw nb::value_error("scores and predictions need one entry a row");
    Stop stop{0};
    {
      nb::gil_scoped_release release;
      std::scoped_lock lock(mutex_);
      stop = visit([&](auto& play) { return play.scores(batch, out.data(), predictions.data()); });
    }
    return nb::make_tuple(stop.row, static_cast<int>(stop.fault), stop.position);
  }

  template <class Index, class Value>
  Csr<Index, Value> csr(const Array<std::int64_t>& indptr, const Array<Index>& index, const Array<Value>& value) const {
    if (indptr.size() == 0 || index.size() != value.size()) throw nb::value_error("indptr, indices and data disagree");
    return {indptr.data(), static_cast<std::int64_t>(indptr.size()) - 1, index.data(), value.data(),
            static_cast<std::int64_t>(value.size())};
  }
  template <class Value>
  Dense<Value> dense(const Matrix<Value>& x) const {
    if (x.shape(1) != width()) throw nb::value_error("wrong width");
    return {x.data(), static_cast<std::int64_t>(x.shape(0)), static_cast<std::int64_t>(x.shape(1))};
  }

  // 1 or 0: what was predicted; otherwise minus the fault, whose feature `fault_feature` tells.
  int learn_named(nb::handle x, int label) {
    const auto lock = lock_with_gil();
    read(x);
    return visit([&](auto& play) {
      const Row<std::int32_t, double> row{example_.slot.data(), example_.value.data(), example_.slot.size()};
      bool positive = false;
      std::size_t at = 0;
      const auto settle = [&] { give_slots(play); };
      Fault fault = repeated(at);
      if (fault == Fault::none) fault = play.round(row, static_cast<std::int8_t>(label), positive, at, settle);
      return fault == Fault::none ? static_cast<int>(positive) : blame(fault, at);
    });
  }

  // (score, positive); a fault comes as (its number, None).
  nb::tuple score_named(nb::handle x) {
    const auto lock = lock_with_gil();
    read(x);
    return visit([&](auto& play) -> nb::tuple {
      const Row<std::int32_t, double> row{example_.slot.data(), example_.value.data(), example_.slot.size()};
      double raw = 0;
      std::size_t at = 0;
      Fault fault = repeated(at);
      if (fault == Fault::none) fault = play.score(row, raw, at);
      if (fault != Fault::none) return nb::make_tuple(-blame(fault, at), nb::none());
      return nb::make_tuple(play.normalised(raw), play.is_positive(raw));
    });
  }
  std::string fault_feature() const { return fault_feature_; }

  nb::tuple counts() const {
    const Record& r = record();
    return nb::make_tuple(r.rounds, r.false_positives, r.false_negatives, r.updates, r.to_keep);
  }
  nb::object predictions(std::size_t first, std::size_t last) const { return to_numpy(record().predictions, first, last); }
  nb::object mistake_rounds(std::size_t first, std::size_t last) const {
    return to_numpy(record().mistake_rounds, first, last);
  }

  // (round, label, mistaken, indptr, index, value) of the kept examples first..last, as far as they were kept.
  nb::tuple kept(std::size_t first, std::size_t last) const {
    const Record& r = record();
    last = std::min(last, r.kept_round.size());
    first = std::min(first, last);
    const auto end_of = [&](std::size_t k) { return k == 0 ? std::int64_t{0} : r.kept_end[k - 1]; };
    std::vector<std::int64_t> indptr;
    for (std::size_t k = first; k <= last; ++k) indptr.push_back(end_of(k) - end_of(first));
    const auto from = static_cast<std::size_t>(end_of(first)), to = static_cast<std::size_t>(end_of(last));
    return nb::make_tuple(to_numpy(r.kept_round, first, last), to_numpy(r.kept_label, first, last),
                          to_numpy(r.kept_mistaken, first, last), to_numpy(indptr, 0, indptr.size()),
                          to_numpy(r.kept_index, from, to), to_numpy(r.kept_value, from, to));
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (std::size_t id = 0; id < names_.size(); ++id) all.emplace_back(names_.name(id));
    return all;
  }
  std::size_t slots() const {
    return visit([](const auto& play) { return play.slots(); });
  }
  nb::object z() const {
    return visit([](const auto& play) { return to_numpy(play.z(), play.slots()); });
  }
  double bias_z() const {
    return visit([](const auto& play) { return static_cast<double>(play.bias_z()); });
  }
  std::size_t width() const {
    return visit([](const auto& play) { return play.settings().width; });
  }
  void use_simd(bool gather) { visit([&](auto& play) { play.use_gather(gather && cpu_has_avx2()); }); }

  nb::tuple state() const {
    return visit([&](const auto& play) {
      const Record& r = play.record;
      return nb::make_tuple(settings_, names(), to_numpy(play.z(), play.slots()), play.bias_z(), play.factor(),
                            play.total().sum, play.total().rest, play.peak(), counts(),
                            to_numpy(r.predictions, 0, r.predictions.size()), mistake_rounds(0, r.mistake_rounds.size()),
                            kept(0, r.kept_round.size()), r.keeping);
    });
  }

  void restore(nb::tuple state) {
    for (nb::handle name : state[1]) names_.insert(nb::cast<std::string>(name));
    const auto z = nb::cast<Array<float>>(state[2]);
    visit([&](auto& play) {
      play.restore(z.data(), z.size(), nb::cast<float>(state[3]), nb::cast<double>(state[4]),
                   Total{nb::cast<double>(state[5]), nb::cast<double>(state[6])}, nb::cast<double>(state[7]));
    });
    Record& r = record();
    const auto counts = nb::cast<nb::tuple>(state[8]);
    r.rounds = nb::cast<std::int64_t>(counts[0]);
    r.false_positives = nb::cast<std::int64_t>(counts[1]);
    r.false_negatives = nb::cast<std::int64_t>(counts[2]);
    r.updates = nb::cast<std::int64_t>(counts[3]);
    r.to_keep = nb::cast<std::int64_t>(counts[4]);
    assign(r.predictions, state[9]);
    assign(r.mistake_rounds, state[10]);
    const auto kept = nb::cast<nb::tuple>(state[11]);
    assign(r.kept_round, kept[0]);
    assign(r.kept_label, kept[1]);
    assign(r.kept_mistaken, kept[2]);
    assign(r.kept_end, kept[3]);
    r.kept_end.erase(r.kept_end.begin());
    assign(r.kept_index, kept[4]);
    assign(r.kept_value, kept[5]);
    r.keeping = nb::cast<bool>(state[12]);
  }

 private:
  template <class T, class Memory>
  static void assign(std::vector<T, Memory>& to, nb::handle from) {
    const auto array = nb::cast<Array<T>>(from);
    to.assign(array.data(), array.data() + array.size());
  }

  // Never wait for the lock while holding the GIL: its holder may be about to ask for the GIL.
  std::unique_lock<std::mutex> lock_with_gil() {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
      nb::gil_scoped_release release;
      lock.lock();
    }
    return lock;
  }

  void read(nb::handle x) {
    example_.read(x);
    names_.find_all(example_.name, [&](std::int64_t id) { example_.slot.push_back(static_cast<std::int32_t>(id + 1)); });
  }

  // Two unknown names share slot 0, so a repetition among them shows only in the names themselves.
  Fault repeated(std::size_t& at) {
    if (!example_.may_repeat || !visit([](const auto& play) { return play.needs_binary(); })) return Fault::none;
    std::vector<std::string_view> sorted = example_.name;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice == sorted.end()) return Fault::none;
    at = static_cast<std::size_t>(std::find(example_.name.begin(), example_.name.end(), *twice) - example_.name.begin());
    return Fault::repeated;
  }

  template <class Game>
  void give_slots(Game& play) {
    for (std::size_t k = 0; k < example_.slot.size(); ++k)
      if (example_.slot[k] == 0) example_.slot[k] = static_cast<std::int32_t>(names_.insert(example_.name[k]) + 1);
    play.resize(names_.size() + 1);
  }

  int blame(Fault fault, std::size_t at) {
    fault_feature_ = at < example_.name.size() ? std::string(example_.name[at]) : "";
    return -static_cast<int>(fault);
  }

  std::optional<AnyPlay> play_;
  nb::tuple settings_;
  Names names_;
  NamedExample example_;
  std::string fault_feature_;
  std::mutex mutex_;
};

template <class Index, class Value>
void add_csr(nb::class_<Engine>& engine) {
  engine.def(
      "play_csr",
      [](Engine& self, Array<std::int64_t> indptr, Array<Index> index, Array<Value> value, Array<std::int8_t> y,
         Output<std::uint8_t> predictions) { return self.play_batch(self.csr(indptr, index, value), y, predictions); },
      "indptr"_a.noconvert(), "index"_a.noconvert(), "value"_a.noconvert(), "y"_a.noconvert(), "predictions"_a.noconvert());
  engine.def(
      "score_csr",
      [](Engine& self, Array<std::int64_t> indptr, Array<Index> index, Array<Value> value, Output<double> out,
         Output<std::uint8_t> predictions) { return self.score_batch(self.csr(indptr, index, value), out, predictions); },
      "indptr"_a.noconvert(), "index"_a.noconvert(), "value"_a.noconvert(), "out"_a.noconvert(), "predictions"_a.noconvert());
}

template <class Value>
void add_dense(nb::class_<Engine>& engine) {
  engine.def(
      "play_dense",
      [](Engine& self, Matrix<Value> x, Array<std::int8_t> y, Output<std::uint8_t> predictions) {
        return self.play_batch(self.dense(x), y, predictions);
      },
      "x"_a.noconvert(), "y"_a.noconvert(), "predictions"_a.noconvert());
  engine.def(
      "score_dense",
      [](Engine& self, Matrix<Value> x, Output<double> out, Output<std::uint8_t> predictions) {
        return self.score_batch(self.dense(x), out, predictions);
      },
      "x"_a.noconvert(), "out"_a.noconvert(), "predictions"_a.noconvert());
}

}  // namespace
}  // namespace mistakebound

NB_MODULE(_core, m) {
  using namespace mistakebound;
  m.doc() = "The compiled twin of mistakebound.reference: one loop, every linear rule.";
  nb::class_<Engine> engine(m, "Engine", "One rule's play: weights, names, and the record of what happened.");
  engine.def(nb::init<const std::string&, double, double, bool, double, double, bool, std::size_t, std::size_t>(),
             "rule"_a, "parameter"_a, "threshold"_a, "strict"_a, "update_margin"_a, "bias"_a, "named"_a, "width"_a,
             "limit_bytes"_a);
  add_csr<std::int32_t, float>(engine);
  add_csr<std::int32_t, double>(engine);
  add_csr<std::int64_t, float>(engine);
  add_csr<std::int64_t, double>(engine);
  add_dense<float>(engine);
  add_dense<double>(engine);
  engine.def("learn_named", &Engine::learn_named, "x"_a, "label"_a)
      .def("score_named", &Engine::score_named, "x"_a)
      .def("fault_feature", &Engine::fault_feature)
      .def("counts", &Engine::counts)
      .def("predictions", &Engine::predictions, "first"_a, "last"_a)
      .def("mistake_rounds", &Engine::mistake_rounds, "first"_a, "last"_a)
      .def("kept", &Engine::kept, "first"_a, "last"_a)
      .def("names", &Engine::names)
      .def("slots", &Engine::slots)
      .def("width", &Engine::width)
      .def("z", &Engine::z)
      .def("bias_z", &Engine::bias_z)
      .def("use_simd", &Engine::use_simd, "gather"_a)
      .def("__getstate__", &Engine::state)
      .def("__setstate__", [](Engine& self, nb::tuple state) {
        const auto s = nb::cast<nb::tuple>(state[0]);
        new (&self) Engine(nb::cast<std::string>(s[0]), nb::cast<double>(s[1]), nb::cast<double>(s[2]), nb::cast<bool>(s[3]),
                           nb::cast<double>(s[4]), nb::cast<double>(s[5]), nb::cast<bool>(s[6]),
                           nb::cast<std::size_t>(s[7]), nb::cast<std::size_t>(s[8]));
        self.restore(state);
      });
  m.def("has_avx2", &cpu_has_avx2, "Whether this machine runs the AVX2 kernel.");
}
