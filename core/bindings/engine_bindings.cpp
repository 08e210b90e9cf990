// Python bindings of the engine. They check arrays, let one thread at a time use an engine, and release the GIL while it plays
// rounds.
#include "bindings/engine_bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/class_bindings.hpp"
#include "bindings/class_state.hpp"
#include "bindings/explain_bindings.hpp"
#include "bindings/label_bindings.hpp"
#include "bindings/lock.hpp"
#include "bindings/named_example.hpp"
#include "bindings/read_bindings.hpp"
#include "play/engine.hpp"

using namespace nanobind::literals;

namespace mistakebound {
namespace {

using Weights = std::optional<Array<double>>;  // of rows; None: all are 1

PyObject* named_fault_type = nullptr;  // _core.NamedFault(kind, name, of_sum): the exception for a fault in a named example

class LockedEngine {
 public:
  LockedEngine(const std::string& rule, double parameter, double threshold, bool strict, double update_margin, double bias,
               bool named, std::size_t width, std::size_t limit_bytes, bool growing, std::uint32_t members, std::size_t joined,
               std::size_t threads, bool shared = false)
      : engine_(rule, parameter,
                settings_of(threshold, strict, update_margin, bias, named, width, growing, members, joined, threads, shared), limit_bytes) {}
  // A panel of several classes.
  LockedEngine(const Settings& settings, std::size_t limit_bytes) : engine_(ClassPlay::id, 0, settings, limit_bytes) {}

  // For other bindings. The caller of `engine` holds the lock.
  Engine& engine() { return engine_; }
  template <class... BeforeWaiting>
  auto take(BeforeWaiting... before_waiting) {
    return lock_.take(before_waiting...);
  }
  template <class Work>
  void without_gil(Work work) {
    lock_.without_gil(work);
  }
  Lock& lock() { return lock_; }
  // The fault of a batch, or None.
  static nb::object fault_of(const Stop& stop) { return stop.fault == Fault::none ? nb::none() : nb::cast(stop); }

  template <class Batch>
  nb::tuple play_batch(const Batch& batch, const Array<std::int8_t>& y, Output<std::uint8_t>& predictions,
                       std::optional<Output<double>>& scores, const Weights& weights) {
    if (y.size() != static_cast<std::size_t>(batch.rows) || predictions.size() != y.size() || (scores && scores->size() != y.size()))
      throw nb::value_error("y, predictions and scores must have one entry per row");
    const double* const of_rows = checked(weights, y.size());
    return play_locked([&] {
      const Engine::UseWeights use(engine_, of_rows);
      return engine_.play(batch, y.data(), predictions.data(), scores ? scores->data() : nullptr);
    });
  }
  // The weights of so many rows; null if all are 1.
  static const double* checked(const Weights& weights, std::size_t rows) {
    if (weights && weights->size() != rows) throw nb::value_error("weights must have one entry per row");
    return weights ? weights->data() : nullptr;
  }

  // Play rounds under the lock and without the GIL. Return (row, fault, counts before, counts after, more).
  template <class Rounds, class... More>
  nb::tuple play_locked(Rounds rounds, const More&... more) {
    Stop stop;
    const auto lock = lock_.take();
    check_alone();
    nb::tuple before = measured_counts();  // under the same lock, so that no other thread plays rounds in between
    lock_.without_gil([&] { stop = rounds(); });
    return nb::make_tuple(stop.row, fault_of(stop), before, measured_counts(), more...);
  }

  // Return (row, fault).
  template <class Batch>
  nb::tuple score_batch(const Batch& batch, Output<double>& out, Output<std::uint8_t>& predictions) {
    if (out.size() != static_cast<std::size_t>(batch.rows) || predictions.size() != out.size())
      throw nb::value_error("out and predictions must have one entry per row");
    return score_locked([&] { return engine_.scores(batch, out.data(), predictions.data()); });
  }
  template <class Scores>
  nb::tuple score_locked(Scores scores) {
    Stop stop;
    const auto lock = lock_.take();
    {
      nb::gil_scoped_release release;
      stop = scores();
    }
    return nb::make_tuple(stop.row, fault_of(stop));
  }

  template <class Index, class Value>
  Csr<Index, Value> csr(const Array<std::int64_t>& indptr, const Array<Index>& index, const Array<Value>& value) const {
    if (indptr.size() == 0) throw nb::value_error("indptr must not be empty");
    if (index.size() != value.size()) throw nb::value_error("index and value must have the same length");
    return {indptr.data(), static_cast<std::int64_t>(indptr.size()) - 1, index.data(), value.data(),
            static_cast<std::int64_t>(value.size())};
  }
  template <class Value>
  Dense<Value> dense(const Matrix<Value>& x) {
    if (x.shape(1) != width()) throw nb::value_error("x must have as many columns as the engine has features");
    return {x.data(), static_cast<std::int64_t>(x.shape(0)), static_cast<std::int64_t>(x.shape(1))};
  }

  // Play rows of a chunk from `first` on, as many as there are labels (+1, -1, or 0 for a label that is neither). Predictions
  // are returned as bytes, so that numpy need not be imported.
  nb::tuple play_chunk(const HeldParsed& parsed, nb::bytes labels, std::size_t first, std::optional<Output<double>> scores,
                       const Weights& weights) {
    const std::size_t rows = labels.size();
    if (parsed.named != engine_.settings().named || first > parsed.chunk.rows() || rows > parsed.chunk.rows() - first)
      throw nb::value_error("the chunk must be of the kind of the engine (named or not), and have a row for each label");
    if (scores && scores->size() != rows) throw nb::value_error("scores must have one entry per label");
    const auto* const y = reinterpret_cast<const std::int8_t*>(labels.c_str());
    nb::object made = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(rows)));
    if (!made.is_valid()) throw nb::python_error();
    auto* const predictions = reinterpret_cast<std::uint8_t*>(PyBytes_AsString(made.ptr()));
    const double* const of_rows = checked(weights, rows);
    return play_locked(
        [&] {
          const Engine::UseWeights use(engine_, of_rows);
          return engine_.play(parsed.chunk, first, rows, y, predictions, scores ? scores->data() : nullptr);
        },
        made);
  }

  nb::tuple score_chunk(const HeldParsed& parsed, Output<double>& out, Output<std::uint8_t>& predictions) {
    if (!parsed.named || out.size() > parsed.chunk.rows() || predictions.size() != out.size())
      throw nb::value_error("the chunk must have named examples, and out and predictions must have one entry per row");
    return score_locked([&] { return engine_.scores(parsed.chunk, out.size(), out.data(), predictions.data()); });
  }

  std::size_t unknown_rows(const HeldParsed& parsed, std::size_t rows) {
    if (!parsed.named || rows > parsed.chunk.rows())
      throw nb::value_error("the chunk must have named examples, and at least `rows` of them");
    const auto lock = lock_.take();
    return engine_.unknown_rows(parsed.chunk, rows);
  }

  // Predict, then learn. Return whether the prediction was positive.
  bool learn_named(nb::handle x, int label, double weight) {
    const Borrowed example(*this, x);
    const auto lock = lock_.take([&] { example->copy_names(); });  // other threads may change x while this one waits
    check_alone();
    const Engine::UseWeights of_row(engine_, weight == 1 ? nullptr : &weight);
    bool positive = false;
    std::size_t at = 0;
    const Fault fault = engine_.learn(*example, static_cast<std::int8_t>(label), positive, at);
    if (fault != Fault::none) throw_fault(fault, *example, at);
    return positive;
  }

  // Learn the outcome of an earlier prediction: of a named example, and of a matrix with one row.
  bool tell_named(nb::handle x, int label, bool positive, double score, std::int64_t updates, double weight) {
    const Borrowed example(*this, x);
    const auto lock = lock_.take([&] { example->copy_names(); });
    check_alone();
    const Engine::UseEarlier use(engine_, {positive, score, updates});
    const Engine::UseWeights of_row(engine_, weight == 1 ? nullptr : &weight);
    std::size_t at = 0;
    const Fault fault = engine_.learn(*example, static_cast<std::int8_t>(label), positive, at);
    if (fault != Fault::none) throw_fault(fault, *example, at);
    return positive;
  }
  nb::tuple tell_csr(const Array<std::int64_t>& indptr, const Array<std::int64_t>& index, const Array<double>& value, int label,
                     bool positive, double score, std::int64_t updates, double weight) {
    const auto row = csr(indptr, index, value);
    if (row.rows != 1) throw nb::value_error("the matrix must have one row");
    const auto y = static_cast<std::int8_t>(label);
    std::uint8_t prediction = 0;
    return play_locked([&] {
      const Engine::UseEarlier use(engine_, {positive, score, updates});
      const Engine::UseWeights of_row(engine_, weight == 1 ? nullptr : &weight);
      return engine_.play(row, &y, &prediction);
    });
  }
  // The kept rounds with updates between prediction and outcome, and the number of these updates.
  nb::tuple late() {
    const auto lock = lock_.take();
    return late_now();
  }

  // Return (score, whether the prediction is positive), without learning.
  nb::tuple score_named(nb::handle x) {
    const Borrowed example(*this, x);
    const auto lock = lock_.take([&] { example->copy_names(); });  // other threads may change x while this one waits
    double score = 0;
    bool positive = false;
    std::size_t at = 0;
    const Fault fault = engine_.score(*example, score, positive, at);
    if (fault != Fault::none) throw_fault(fault, *example, at);
    return nb::make_tuple(score, positive);
  }

  nb::tuple counts() {
    const auto lock = lock_.take();
    return counts_now();
  }
  nb::object predictions(std::size_t first, std::size_t last) {
    const auto lock = lock_.take();
    return to_numpy(engine_.record().predictions, first, last);
  }
  nb::object mistake_rounds(std::size_t first, std::size_t last) {
    const auto lock = lock_.take();
    return to_numpy(engine_.record().mistake_rounds, first, last);
  }
  // Return (round, label, mistaken, indptr, index, value) of those of the examples first..last that were kept.
  nb::tuple kept(std::size_t first, std::size_t last) {
    const auto lock = lock_.take();
    return kept_now(first, last);
  }
  std::vector<std::string> names() {
    const auto lock = lock_.take();
    const Names& names = engine_.names();
    std::vector<std::string> all;
    for (std::size_t id = 0; id < names.size(); ++id) all.emplace_back(names.name(id));
    return all;
  }
  std::size_t slots() {
    const auto lock = lock_.take();
    return engine_.slots();
  }
  // Return (z of every slot, z of the constant feature).
  nb::tuple z() {
    const auto lock = lock_.take();
    auto copy = std::make_unique<float[]>(engine_.slots());
    engine_.copy_z(copy.get());
    return nb::make_tuple(owned(std::move(copy), engine_.slots()), static_cast<double>(engine_.bias_z()));
  }
  // Return (weight of every slot, weight of the constant feature) of a rule with scalars.
  nb::tuple weights() {
    const auto lock = lock_.take();
    auto copy = std::make_unique<double[]>(engine_.slots());
    engine_.copy_weights(copy.get());
    return nb::make_tuple(owned(std::move(copy), engine_.slots()), engine_.bias_weight());
  }
  std::size_t width() {
    const auto lock = lock_.take();
    return engine_.settings().width;
  }
  void use_simd(bool avx2) {
    const auto lock = lock_.take();
    engine_.use_avx2(avx2);
  }

  // Rounds, sum of (p − y)², log loss as two numbers, and the counts of each bin, by label; None before the first round, and for
  // a rule without probabilities.
  nb::object measures() {
    const auto lock = lock_.take();
    return measures_now();
  }
  void measure(bool on) {
    const auto lock = lock_.take();
    engine_.record().measures.on = on;
  }
  void use_threads(std::size_t threads) {
    const auto lock = lock_.take();
    if (engine_.panel() != nullptr) engine_.panel()->use_threads(threads);
  }
  // No chunk will follow soon.
  void rest() {
    const auto lock = lock_.take();
    if (engine_.panel() != nullptr) engine_.panel()->rest();
  }
  // The scores of the members from outside, for the next rows.
  void join(const std::vector<double>& scores) {
    const auto lock = lock_.take();
    if (engine_.panel() == nullptr || scores.size() != engine_.settings().joined)
      throw nb::value_error("there must be a score for each member from outside");
    engine_.panel()->joined = scores;
  }
  // Of a panel: (mistakes, log loss, share, weight) of each member and mixer, and (rounds, mistakes, overrides, log loss of the
  // mixture, mistakes of the best member or mixer).
  nb::tuple standings() {
    const auto lock = lock_.take();
    return with_panel([](const auto& core) {
      nb::list all;
      for (const panel::Standing& each : core.standings()) all.append(nb::make_tuple(each.mistakes, each.loss, each.share, each.weight));
      const panel::Totals totals = core.totals();
      return nb::make_tuple(all, nb::make_tuple(totals.rounds, totals.mistakes, totals.overrides, totals.loss, totals.fewest));
    });
  }

  // Of a panel: (round, member) of each change of the leader.
  nb::list leadership() {
    const auto lock = lock_.take();
    return with_panel([](const auto& core) {
      nb::list all;
      const panel::Leadership& leads = core.leadership();
      for (std::size_t k = 0; k < leads.rounds.size(); ++k) all.append(nb::make_tuple(leads.rounds[k], leads.members[k]));
      return all;
    });
  }

  nb::tuple state() {
    const auto lock = lock_.take();
    const Record& r = engine_.record();
    const Settings& s = engine_.settings();
    const Snapshot it = engine_.snapshot();
    nb::list all;
    all.append(nb::make_tuple(engine_.rule(), engine_.parameter(), s.threshold, s.strict, s.update_margin, s.bias, s.named, s.width,
                              r.limit_bytes, s.growing, s.members, s.joined, s.threads));
    all.append(it.names);
    if (engine_.panel() != nullptr) {
      const panel::PanelState& p = it.panel;
      all.append(nb::make_tuple(to_numpy(p.features, 0, p.features.size()), to_numpy(p.records, 0, p.records.size()),
                                to_numpy(p.touched, 0, p.touched.size()), to_numpy(p.slots, 0, p.slots.size()),
                                to_numpy(p.numbers, 0, p.numbers.size()), to_numpy(p.leads, 0, p.leads.size())));
    } else if (engine_.classes() != nullptr) {
      all.append(class_tuple(it.classes, engine_.classes()->of_classes));
    } else if (engine_.class_perceptron() != nullptr) {
      all.append(perceptron_tuple(it.state, it.bias, engine_.class_perceptron()->of_classes));
    } else {
      all.append(to_numpy(it.state, 0, it.state.size()));
      for (const double sum : {static_cast<double>(it.bias[0]), it.factor, it.total.sum, it.total.rest, it.peak}) all.append(sum);
      for (std::size_t k = 1; k < it.bias.size(); ++k) all.append(static_cast<double>(it.bias[k]));
      for (const double scalar : it.scalars) all.append(scalar);
    }
    all.append(counts_now());
    all.append(to_numpy(r.predictions, 0, r.predictions.size()));
    all.append(to_numpy(r.mistake_rounds, 0, r.mistake_rounds.size()));
    all.append(kept_now(0, r.kept_round.size()));
    all.append(r.keeping);
    all.append(late_now());
    all.append(stored_measures());
    return nb::tuple(all);
  }

  void restore(nb::tuple state) {
    // The tuple is (settings, names, state, five sums, further floats of the bias, scalars, seven parts of the record); that of a
    // panel has one tuple of arrays in place of state, sums, floats and scalars.
    constexpr std::size_t first_sum = 3, sums = 5, history = 7;
    const bool panel = engine_.panel() != nullptr, classes = engine_.classes() != nullptr, perceptron = engine_.class_perceptron() != nullptr;
    if (state.size() < first_sum + (panel || classes || perceptron ? 0 : sums) + history) throw nb::value_error("the stored state has too few parts");
    const std::size_t bias_end = state.size() - history;
    Snapshot it;
    it.names = nb::cast<std::vector<std::string>>(state[1]);
    if (panel) {
      const auto parts = nb::cast<nb::tuple>(state[2]);
      assign(it.panel.features, parts[0]);
      assign(it.panel.records, parts[1]);
      assign(it.panel.touched, parts[2]);
      assign(it.panel.slots, parts[3]);
      assign(it.panel.numbers, parts[4]);
      assign(it.panel.leads, parts[5]);
    } else if (classes) {
      it.classes = class_state_of(nb::cast<nb::tuple>(state[2]));
    } else if (perceptron) {
      const auto parts = nb::cast<nb::tuple>(state[2]);
      if (parts.size() != 8) throw nb::value_error("the stored state has a wrong number of parts");
      assign(it.state, parts[0]);
      assign(it.bias, parts[1]);
    } else {
      assign(it.state, state[2]);
      it.bias.push_back(nb::cast<float>(state[first_sum]));
      for (std::size_t k = first_sum + sums; k < bias_end; ++k) {
        if (it.bias.size() < engine_.floats())
          it.bias.push_back(nb::cast<float>(state[k]));
        else
          it.scalars.push_back(nb::cast<double>(state[k]));
      }
      it.factor = nb::cast<double>(state[4]);
      it.total = {nb::cast<double>(state[5]), nb::cast<double>(state[6])};
      it.peak = nb::cast<double>(state[7]);
    }
    engine_.restore(it);
    if (ClassGame* const game = engine_.class_game(); game != nullptr) {
      const auto parts = nb::cast<nb::tuple>(state[2]);
      restore_record(parts, classes ? 16 : 2, game->classes(), game->of_classes);
      if (classes) game->of_classes.measured = nb::cast<std::int64_t>(parts[20]);
      if (perceptron) restore_kept(parts, game->classes(), game->of_classes);
    }
    Record& r = engine_.record();
    const auto counts = nb::cast<nb::tuple>(state[bias_end]);
    r.rounds = nb::cast<std::int64_t>(counts[0]);
    r.false_positives = nb::cast<std::int64_t>(counts[1]);
    r.false_negatives = nb::cast<std::int64_t>(counts[2]);
    r.updates = nb::cast<std::int64_t>(counts[3]);
    r.to_keep = nb::cast<std::int64_t>(counts[4]);
    assign(r.predictions, state[bias_end + 1]);
    assign(r.mistake_rounds, state[bias_end + 2]);
    const auto kept = nb::cast<nb::tuple>(state[bias_end + 3]);
    assign(r.kept_round, kept[0]);
    assign(r.kept_label, kept[1]);
    assign(r.kept_mistaken, kept[2]);
    assign(r.kept_end, kept[3]);
    r.kept_end.erase(r.kept_end.begin());
    assign(r.kept_index, kept[4]);
    assign(r.kept_value, kept[5]);
    r.keeping = nb::cast<bool>(state[bias_end + 4]);
    const auto late = nb::cast<nb::tuple>(state[bias_end + 5]);
    assign(r.late_round, late[0]);
    assign(r.late_delay, late[1]);
    if (const nb::object measured = state[bias_end + 6]; !measured.is_none()) restore_measures(nb::cast<nb::tuple>(measured));
  }

  // A named example in memory that is reused. Reading it may run Python code that calls this engine, which then makes another
  // one. The GIL protects `spare_`.
  class Borrowed {
   public:
    Borrowed(LockedEngine& engine, nb::handle x) : engine_(engine), example_(std::move(engine.spare_)) {
      if (!example_) example_ = std::make_unique<NamedExample>();
      example_->read(x);
    }
    ~Borrowed() {
      example_->clear();
      engine_.spare_ = std::move(example_);
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    NamedExample& operator*() const { return *example_; }
    NamedExample* operator->() const { return example_.get(); }

   private:
    LockedEngine& engine_;
    std::unique_ptr<NamedExample> example_;
  };

  [[noreturn]] static void throw_fault(Fault fault, const NamedExample& example, std::size_t at) {
    const bool known = at < example.size;
    const std::string_view name = known ? example.name[at] : std::string_view();
    PyErr_SetObject(named_fault_type,
                    nb::make_tuple(fault, nb::str(name.data(), name.size()), known && example.is_sum(at)).ptr());
    throw nb::python_error();
  }

 private:
  // The panel of a label must not learn a row that the panels of other labels do not learn.
  void check_alone() const {
    if (engine_.is_shared() || (engine_.panel() != nullptr && engine_.settings().shared))
      throw nb::value_error("this panel learns with the panels of other labels: use the MultilabelPanel, or a copy of this panel");
  }
  // Call `work` with the core of a panel of two or of several classes.
  template <class Work>
  auto with_panel(Work work) -> decltype(work(std::declval<const panel::ClassCore&>())) {
    if (engine_.panel() != nullptr) return work(engine_.panel()->core());
    if (engine_.classes() != nullptr) return work(engine_.classes()->core());
    throw nb::value_error("this engine is not a panel");
  }
  static Settings settings_of(double threshold, bool strict, double update_margin, double bias, bool named, std::size_t width,
                              bool growing, std::uint32_t members, std::size_t joined, std::size_t threads, bool shared) {
    Settings settings{threshold, strict, update_margin, bias, named, width, growing};
    settings.members = members, settings.joined = joined, settings.threads = threads;
    settings.shared = shared;
    return settings;
  }

  nb::tuple counts_now() const {
    const Record& r = engine_.record();
    return nb::make_tuple(r.rounds, r.false_positives, r.false_negatives, r.updates, r.to_keep);
  }
  // The counts, and the measures of a learner with probabilities.
  nb::tuple measured_counts() const {
    const Record& r = engine_.record();
    return nb::make_tuple(r.rounds, r.false_positives, r.false_negatives, r.updates, r.to_keep, measures_now());
  }
  // The bins are bytes, 8 for each number, because a short run does without numpy.
  nb::object measures_now() const {
    const Measures& m = engine_.record().measures;
    if (m.positives.empty()) return nb::none();
    const auto bytes = [](const std::vector<std::int64_t>& bins) { return nb::bytes(bins.data(), bins.size() * sizeof(std::int64_t)); };
    return nb::make_tuple(m.rounds, m.brier, m.loss, m.product, bytes(m.negatives), bytes(m.positives));
  }
  nb::object stored_measures() const {
    const Measures& m = engine_.record().measures;
    if (m.positives.empty()) return nb::none();
    return nb::make_tuple(m.rounds, m.brier, m.loss, m.product, to_numpy(m.negatives, 0, Measures::bins),
                          to_numpy(m.positives, 0, Measures::bins));
  }
  void restore_measures(const nb::tuple& from) {
    Measures& m = engine_.record().measures;
    m.rounds = nb::cast<std::int64_t>(from[0]);
    m.brier = nb::cast<double>(from[1]);
    m.loss = nb::cast<double>(from[2]);
    m.product = nb::cast<double>(from[3]);
    assign(m.negatives, from[4]);
    assign(m.positives, from[5]);
    if (m.negatives.size() != Measures::bins || m.positives.size() != Measures::bins)
      throw std::invalid_argument("the stored measures have a wrong number of bins");
  }

  nb::tuple late_now() const {
    const Record& r = engine_.record();
    return nb::make_tuple(to_numpy(r.late_round, 0, r.late_round.size()), to_numpy(r.late_delay, 0, r.late_delay.size()));
  }

  nb::tuple kept_now(std::size_t first, std::size_t last) const {
    const Record& r = engine_.record();
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

  Engine engine_;
  std::unique_ptr<NamedExample> spare_;
  Lock lock_{"learner"};
};

// {id: (log_odds, keeps_examples, number of floats per feature, number of scalars)}
template <class... Rule>
nb::dict flags_of(RuleList<Rule...>) {
  nb::dict all;
  const auto add = [&all]<class One>(const Play<One>& play) {
    all[nb::str(One::id.data(), One::id.size())] =
        nb::make_tuple(One::log_odds, One::keeps_examples, play.floats, play.scalars().size());
  };
  (add(Play<Rule>(Rule(1), Settings{})), ...);
  return all;
}

template <class Index, class Value>
void add_csr(nb::class_<LockedEngine>& engine) {
  engine.def(
      "play_csr",
      [](LockedEngine& self, Array<std::int64_t> indptr, Array<Index> index, Array<Value> value, Array<std::int8_t> y,
         Output<std::uint8_t> predictions, std::optional<Output<double>> scores, Weights weights) {
        return self.play_batch(self.csr(indptr, index, value), y, predictions, scores, weights);
      },
      "indptr"_a.noconvert(), "index"_a.noconvert(), "value"_a.noconvert(), "y"_a.noconvert(), "predictions"_a.noconvert(),
      "scores"_a.noconvert() = nb::none(), "weights"_a.noconvert() = nb::none());
  engine.def(
      "score_csr",
      [](LockedEngine& self, Array<std::int64_t> indptr, Array<Index> index, Array<Value> value, Output<double> out,
         Output<std::uint8_t> predictions) { return self.score_batch(self.csr(indptr, index, value), out, predictions); },
      "indptr"_a.noconvert(), "index"_a.noconvert(), "value"_a.noconvert(), "out"_a.noconvert(), "predictions"_a.noconvert());
}

template <class Value>
void add_dense(nb::class_<LockedEngine>& engine) {
  engine.def(
      "play_dense",
      [](LockedEngine& self, Matrix<Value> x, Array<std::int8_t> y, Output<std::uint8_t> predictions,
         std::optional<Output<double>> scores, Weights weights) { return self.play_batch(self.dense(x), y, predictions, scores, weights); },
      "x"_a.noconvert(), "y"_a.noconvert(), "predictions"_a.noconvert(), "scores"_a.noconvert() = nb::none(),
      "weights"_a.noconvert() = nb::none());
  engine.def(
      "score_dense",
      [](LockedEngine& self, Matrix<Value> x, Output<double> out, Output<std::uint8_t> predictions) {
        return self.score_batch(self.dense(x), out, predictions);
      },
      "x"_a.noconvert(), "out"_a.noconvert(), "predictions"_a.noconvert());
}

}  // namespace

void bind_engine(nb::module_& m) {
  nb::enum_<Fault>(m, "FaultKind", "What is wrong with a row.")
      .value("LABEL", Fault::label)
      .value("INDEX", Fault::index)
      .value("NOT_FINITE", Fault::not_finite)
      .value("NOT_BINARY", Fault::not_binary)
      .value("TOO_LARGE", Fault::too_large)
      .value("TOO_SMALL", Fault::too_small)
      .value("OVERFLOW", Fault::overflow)
      .value("MALFORMED", Fault::malformed)
      .value("WEIGHT", Fault::weight);
  nb::class_<Stop>(m, "Fault", "What is wrong with a row of a batch, and where.")
      .def_ro("kind", &Stop::fault)
      .def_ro("row", &Stop::row)
      .def_ro("position", &Stop::position)
      .def_ro("of_sum", &Stop::of_sum);
  named_fault_type = PyErr_NewException("mistakebound._core.NamedFault", PyExc_ValueError, nullptr);
  m.attr("NamedFault") = nb::handle(named_fault_type);
  m.def("rules", [] { return flags_of(Rules{}); });
  nb::class_<LockedEngine> engine(m, "Engine", "A linear rule with its weights, feature names, and the record of its rounds.");
  engine.def(nb::init<const std::string&, double, double, bool, double, double, bool, std::size_t, std::size_t, bool, std::uint32_t,
                      std::size_t, std::size_t, bool>(),
             "rule"_a, "parameter"_a, "threshold"_a, "strict"_a, "update_margin"_a, "bias"_a, "named"_a, "width"_a,
             "limit_bytes"_a, "growing"_a = false, "members"_a = 0xffff, "joined"_a = 0, "threads"_a = 1,
             "shared"_a = false);
  add_csr<std::int32_t, float>(engine);
  add_csr<std::int32_t, double>(engine);
  add_csr<std::int64_t, float>(engine);
  add_csr<std::int64_t, double>(engine);
  add_dense<float>(engine);
  add_dense<double>(engine);
  ClassBindings<LockedEngine>::bind(engine);
  ExplainBindings<LockedEngine>::bind(engine);
  LabelBindings<LockedEngine>::bind(engine);
  engine.def("learn_named", &LockedEngine::learn_named, "x"_a, "label"_a, "weight"_a = 1.0)
      .def("score_named", &LockedEngine::score_named, "x"_a)
      .def("tell_named", &LockedEngine::tell_named, "x"_a, "label"_a, "positive"_a, "score"_a, "updates"_a, "weight"_a = 1.0)
      .def("tell_csr", &LockedEngine::tell_csr, "indptr"_a.noconvert(), "index"_a.noconvert(), "value"_a.noconvert(), "label"_a,
           "positive"_a, "score"_a, "updates"_a, "weight"_a = 1.0)
      .def("late", &LockedEngine::late)
      .def("play_chunk", &LockedEngine::play_chunk, "chunk"_a, "labels"_a, "first"_a = 0, "scores"_a.noconvert() = nb::none(),
           "weights"_a.noconvert() = nb::none())
      .def("measures", &LockedEngine::measures)
      .def("measure", &LockedEngine::measure, "on"_a)
      .def("use_threads", &LockedEngine::use_threads, "threads"_a)
      .def("rest", &LockedEngine::rest)
      .def("join", &LockedEngine::join, "scores"_a)
      .def("standings", &LockedEngine::standings)
      .def("leadership", &LockedEngine::leadership)
      .def("score_chunk", &LockedEngine::score_chunk, "chunk"_a, "out"_a.noconvert(), "predictions"_a.noconvert())
      .def("unknown_rows", &LockedEngine::unknown_rows, "chunk"_a, "rows"_a)
      .def("counts", &LockedEngine::counts)
      .def("predictions", &LockedEngine::predictions, "first"_a, "last"_a)
      .def("mistake_rounds", &LockedEngine::mistake_rounds, "first"_a, "last"_a)
      .def("kept", &LockedEngine::kept, "first"_a, "last"_a)
      .def("names", &LockedEngine::names)
      .def("slots", &LockedEngine::slots)
      .def("width", &LockedEngine::width)
      .def("z", &LockedEngine::z)
      .def("weights", &LockedEngine::weights)
      .def("use_simd", &LockedEngine::use_simd, "avx2"_a)
      .def("__getstate__", &LockedEngine::state)
      .def("__setstate__", [](LockedEngine& self, nb::tuple state) {
        const auto s = nb::cast<nb::tuple>(state[0]);
        new (&self) LockedEngine(nb::cast<std::string>(s[0]), nb::cast<double>(s[1]), nb::cast<double>(s[2]), nb::cast<bool>(s[3]),
                           nb::cast<double>(s[4]), nb::cast<double>(s[5]), nb::cast<bool>(s[6]),
                           nb::cast<std::size_t>(s[7]), nb::cast<std::size_t>(s[8]), nb::cast<bool>(s[9]),
                           nb::cast<std::uint32_t>(s[10]), nb::cast<std::size_t>(s[11]), nb::cast<std::size_t>(s[12]));
        try {
          self.restore(state);
        } catch (...) {
          self.~LockedEngine();  // Python does not destroy an object whose __setstate__ failed
          throw;
        }
      });
}

}  // namespace mistakebound
