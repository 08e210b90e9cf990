// The only file that knows Python: an Engine is one rule's play, its names and its lock.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "bindings/expert_bindings.hpp"
#include "bindings/lock.hpp"
#include "bindings/named_example.hpp"
#include "bindings/read_bindings.hpp"
#include "names/names.hpp"
#include "play/play.hpp"
#include "read/cache.hpp"
#include "read/reader.hpp"

using namespace nanobind::literals;

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
nb::object owned(std::unique_ptr<T[]> numbers, std::size_t size) {
  T* raw = numbers.release();
  nb::capsule owner(raw, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(raw, {size}, owner));
}
template <class T>
nb::object to_numpy(const T* data, std::size_t size) {
  auto copy = std::make_unique<T[]>(size);
  std::copy(data, data + size, copy.get());
  return owned(std::move(copy), size);
}
nb::list list_of_bytes(const std::vector<std::string_view>& texts) {
  nb::list all;
  for (const std::string_view text : texts) all.append(nb::bytes(text.data(), text.size()));
  return all;
}

template <class Game>
nb::object z_now(const Game& play) {
  auto copy = std::make_unique<float[]>(play.slots());
  play.copy_z(copy.get());
  return owned(std::move(copy), play.slots());
}
template <class Numbers>  // a vector or a Table
nb::object to_numpy(const Numbers& v, std::size_t first, std::size_t last) {
  last = std::min(last, v.size());
  first = std::min(first, last);
  return to_numpy(v.data() + first, last - first);
}

PyObject* fault_type = nullptr;  // _core.Fault(number, feature): bad input in a named example

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
         bool named, std::size_t width, std::size_t limit_bytes, bool growing)
      : rule_(rule), parameter_(parameter) {
    Settings s{threshold, strict, update_margin, bias, rule == "elimination", named, width, growing};
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
  }

  template <class Batch>
  nb::tuple play_batch(const Batch& batch, const Array<std::int8_t>& y, Output<std::uint8_t>& predictions) {
    if (y.size() != static_cast<std::size_t>(batch.rows) || predictions.size() != y.size())
      throw nb::value_error("y and predictions need one entry a row");
    return play_locked([&] { return visit([&](auto& play) { return play.play(batch, y.data(), predictions.data()); }); });
  }

  // Rounds played under the lock and without the GIL: (row, fault, position, counts before, counts after, more).
  template <class Rounds, class... More>
  nb::tuple play_locked(Rounds rounds, const More&... more) {
    Stop stop{0};
    const auto lock = lock_with_gil();
    nb::tuple before = counts_now();  // under the same lock as the play: other threads' rounds are not in between
    {
      nb::gil_scoped_release release;
      const Playing playing(playing_);
      stop = rounds();
    }
    return nb::make_tuple(stop.row, static_cast<int>(stop.fault), stop.position, before, counts_now(), more...);
  }

  template <class Batch>
  nb::tuple score_batch(const Batch& batch, Output<double>& out, Output<std::uint8_t>& predictions) {
    if (out.size() != static_cast<std::size_t>(batch.rows) || predictions.size() != out.size())
      throw nb::value_error("scores and predictions need one entry a row");
    Stop stop{0};
    const auto lock = lock_with_gil();
    {
      nb::gil_scoped_release release;
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
  Dense<Value> dense(const Matrix<Value>& x) {
    if (x.shape(1) != width()) throw nb::value_error("wrong width");
    return {x.data(), static_cast<std::int64_t>(x.shape(0)), static_cast<std::int64_t>(x.shape(1))};
  }

  // Rows of a chunk from `first` on, as many as there are labels (+1, -1; 0 is none). The predictions come as bytes, for which
  // nobody needs numpy. Names are looked up row by row, for learning one row may give ids that the next one needs.
  nb::tuple play_chunk(const Parsed& parsed, nb::bytes labels, std::size_t first) {
    const Chunk& chunk = parsed.chunk;
    const std::size_t rows = labels.size();
    if (parsed.named != named() || first > chunk.rows() || rows > chunk.rows() - first)
      throw nb::value_error("a chunk has at least one row a label");
    const auto* const y = reinterpret_cast<const std::int8_t*>(labels.c_str());
    nb::object made = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(rows)));
    if (!made.is_valid()) throw nb::python_error();
    auto* const predictions = reinterpret_cast<std::uint8_t*>(PyBytes_AsString(made.ptr()));
    if (!parsed.named) {
      const Csr<std::int32_t, double> batch{chunk.indptr.data() + first, static_cast<std::int64_t>(rows), chunk.index.data(),
                                            chunk.value.data(), static_cast<std::int64_t>(chunk.value.size())};
      return play_locked([&] { return visit([&](auto& play) { return play.play(batch, y, predictions); }); }, made);
    }
    return play_locked([&] {
      const Record::Batch kept(record(), predictions, rows);
      SummedOnes summed;
      return each_named(chunk, first, rows, [&](auto& play, std::size_t r, const auto& x, const auto& name_of, const auto* keys,
                                               auto* slots, auto& at) {
        bool positive = false;
        const auto settle = [&] {
          give_slots(play, name_of, keys, slots, x.size);
          return is_of_ones(chunk, first + r) ? summed(x) : x;
        };
        const Fault fault = play.round(x, y[r], positive, at, settle);
        predictions[r] = positive ? 1 : 0;
        return fault;
      });
    }, made);
  }

  nb::tuple score_chunk(const Parsed& parsed, Output<double>& out, Output<std::uint8_t>& predictions) {
    const Chunk& chunk = parsed.chunk;
    if (!parsed.named || out.size() > chunk.rows() || predictions.size() != out.size())
      throw nb::value_error("a chunk of named examples needs one score and one prediction a row");
    Stop stop{0};
    const auto lock = lock_with_gil();
    {
      nb::gil_scoped_release release;
      stop = each_named(chunk, 0, out.size(), [&](auto& play, std::size_t r, const auto& x, const auto&, const auto*, auto*, auto& at) {
        double raw = 0;
        const Fault fault = play.score(x, raw, at);
        out.data()[r] = play.normalised(raw);
        predictions.data()[r] = play.is_positive(raw) ? 1 : 0;
        return fault;
      });
    }
    return nb::make_tuple(stop.row, static_cast<int>(stop.fault), stop.position);
  }

  // How many of the first rows of a chunk have no feature with a name that is known.
  std::size_t unknown_rows(const Parsed& parsed, std::size_t rows) {
    const Chunk& chunk = parsed.chunk;
    if (!parsed.named || rows > chunk.rows()) throw nb::value_error("a chunk of named examples has names");
    const auto lock = lock_with_gil();
    std::size_t unknown = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      const auto end = static_cast<std::size_t>(chunk.indptr[r + 1]);
      auto k = static_cast<std::size_t>(chunk.indptr[r]);
      while (k < end && find(chunk, k) == 0) ++k;
      unknown += k == end ? 1 : 0;
    }
    return unknown;
  }

  // Whether the positive label was predicted, before learning.
  bool learn_named(nb::handle x, int label) {
    const Borrowed example(*this, x);
    const auto lock = lock_with_gil([&] { example->own_names(); });  // others may change x meanwhile
    example->find_slots(names_);
    return visit([&](auto& play) {
      const Row<std::int32_t, double> row{example->slot.data(), example->value.data(), example->size};
      bool positive = false;
      std::size_t at = 0;
      const auto settle = [&] {
        give_slots(play, [&](std::size_t k) { return example->name[k]; }, example->key.data(), example->slot.data(), example->size);
        return row;
      };
      play.record.expect(1);
      const Fault fault = play.round(row, static_cast<std::int8_t>(label), positive, at, settle);
      if (fault != Fault::none) blame(fault, *example, at);
      const std::uint8_t prediction = positive ? 1 : 0;
      play.record.add_predictions(&prediction, 1);
      return positive;
    });
  }

  // (score, positive), without learning.
  nb::tuple score_named(nb::handle x) {
    const Borrowed example(*this, x);
    const auto lock = lock_with_gil([&] { example->own_names(); });  // others may change x meanwhile
    example->find_slots(names_);
    return visit([&](auto& play) -> nb::tuple {
      const Row<std::int32_t, double> row{example->slot.data(), example->value.data(), example->size};
      double raw = 0;
      std::size_t at = 0;
      const Fault fault = play.score(row, raw, at);
      if (fault != Fault::none) blame(fault, *example, at);
      return nb::make_tuple(play.normalised(raw), play.is_positive(raw));
    });
  }

  nb::tuple counts() {
    const auto lock = lock_with_gil();
    return counts_now();
  }
  nb::object predictions(std::size_t first, std::size_t last) {
    const auto lock = lock_with_gil();
    return to_numpy(record().predictions, first, last);
  }
  nb::object mistake_rounds(std::size_t first, std::size_t last) {
    const auto lock = lock_with_gil();
    return to_numpy(record().mistake_rounds, first, last);
  }
  // (round, label, mistaken, indptr, index, value) of the kept examples first..last, as far as they were kept.
  nb::tuple kept(std::size_t first, std::size_t last) {
    const auto lock = lock_with_gil();
    return kept_now(first, last);
  }
  std::vector<std::string> names() {
    const auto lock = lock_with_gil();
    return names_now();
  }
  std::size_t slots() {
    const auto lock = lock_with_gil();
    return visit([](const auto& play) { return play.slots(); });
  }
  // (z of every slot, z of the constant feature)
  nb::tuple z() {
    const auto lock = lock_with_gil();
    return visit([](const auto& play) {
      return nb::make_tuple(z_now(play), static_cast<double>(play.bias_z()));
    });
  }
  std::size_t width() {
    const auto lock = lock_with_gil();
    return visit([](const auto& play) { return play.settings().width; });
  }
  bool named() const {
    return visit([](const auto& play) { return play.settings().named; });
  }
  void use_simd(bool avx2) {
    const auto lock = lock_with_gil();
    visit([&](auto& play) { play.use_avx2(avx2 && cpu_has_avx2()); });
  }

  nb::tuple state() {
    const auto lock = lock_with_gil();
    return visit([&](const auto& play) {
      const Record& r = play.record;
      const Settings& s = play.settings();
      const nb::tuple settings = nb::make_tuple(rule_, parameter_, s.threshold, s.strict, s.update_margin, s.bias, s.named,
                                                s.width, r.limit_bytes, s.growing);
      return nb::make_tuple(settings, names_now(), z_now(play), play.bias_z(), play.factor(),
                            play.total().sum, play.total().rest, play.peak(), counts_now(),
                            to_numpy(r.predictions, 0, r.predictions.size()),
                            to_numpy(r.mistake_rounds, 0, r.mistake_rounds.size()), kept_now(0, r.kept_round.size()),
                            r.keeping);
    });
  }

  void restore(nb::tuple state) {
    for (nb::handle name : state[1]) names_.insert(nb::cast<std::string>(name));
    const auto z = nb::cast<Array<float>>(state[2]);
    visit([&](auto& play) {
      play.restore(z.data(), z.size(), nb::cast<float>(state[3]), nb::cast<double>(state[4]),
                   Total{nb::cast<double>(state[5]), nb::cast<double>(state[6])}, nb::cast<double>(state[7]));
      if (!play.total_fits()) throw nb::value_error("the stored total of the weights is not the sum of the weights");
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
  template <class T>
  static void assign(std::vector<T>& to, nb::handle from) {
    const auto array = nb::cast<Array<T>>(from);
    to.assign(array.data(), array.data() + array.size());
  }
  template <class T>
  static void assign(Table<T>& to, nb::handle from) {
    const auto array = nb::cast<Array<T>>(from);
    to.resize(0);
    to.append(array.data(), array.size());
  }

  // Never wait for the lock while holding the GIL: its holder may be about to ask for the GIL. After a fork the lock may
  // belong to a thread that the child does not have: it gets a new one. What that thread was doing is then half done.
  template <class BeforeWaiting>
  std::unique_lock<std::mutex> lock_with_gil(BeforeWaiting before_waiting) {
    if (forks_seen_ != forks) {
      new (&mutex_) std::mutex;
      forks_seen_ = forks;
      torn_ = playing_;
    }
    if (torn_)
      throw std::runtime_error(
          "this process was forked while another thread was inside run of this learner: the learner stopped half-way here "
          "and cannot be used");
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
      before_waiting();
      nb::gil_scoped_release release;
      lock.lock();
    }
    return lock;
  }
  std::unique_lock<std::mutex> lock_with_gil() {
    return lock_with_gil([] {});
  }

  class Playing {  // for as long as rounds are being played
   public:
    explicit Playing(bool& flag) : flag_(flag) { flag_ = true; }
    ~Playing() { flag_ = false; }
    Playing(const Playing&) = delete;
    Playing& operator=(const Playing&) = delete;

   private:
    bool& flag_;
  };

  nb::tuple counts_now() const {
    const Record& r = record();
    return nb::make_tuple(r.rounds, r.false_positives, r.false_negatives, r.updates, r.to_keep);
  }

  std::vector<std::string> names_now() const {
    std::vector<std::string> all;
    for (std::size_t id = 0; id < names_.size(); ++id) all.emplace_back(names_.name(id));
    return all;
  }

  nb::tuple kept_now(std::size_t first, std::size_t last) const {
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

  // A named example in memory that is used again and again. Reading it may call back into this engine, which then
  // borrows another one. The GIL guards the spare.
  class Borrowed {
   public:
    Borrowed(Engine& engine, nb::handle x) : engine_(engine), example_(std::move(engine.spare_)) {
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
    Engine& engine_;
    std::unique_ptr<NamedExample> example_;
  };

  template <class Game, class NameOf>
  void give_slots(Game& play, NameOf name_of, const Key* keys, std::int32_t* slots, std::size_t size) {
    std::size_t unknown = 0;
    for (std::size_t k = 0; k < size; ++k) unknown += slots[k] == 0 ? 1 : 0;
    if (unknown == 0) return;
    play.reserve(play.slots() + unknown);  // first, so that no name is left without a weight
    for (std::size_t k = 0; k < size; ++k) {
      if (slots[k] != 0) continue;
      slots[k] = static_cast<std::int32_t>(names_.insert(name_of(k), keys[k]) + 1);
      play.resize(names_.size() + 1);
    }
  }

  // So many rows of a chunk of named examples, from `first` on, in turn: `round(play, row, name_of, keys, slots, at)` until
  // one is at fault. The slots of a row are found while the row before is waiting for its weights.
  template <class Round>
  Stop each_named(const Chunk& chunk, std::size_t first, std::size_t rows, Round round) {
    return visit([&](auto& play) -> Stop {
      std::vector<std::int32_t> slots, next;
      std::vector<double> ones;
      find_row(play, chunk, first, first + rows, next);
      for (std::size_t r = 0; r < rows; ++r) {
        slots.swap(next);
        const std::size_t known = names_.size();
        find_row(play, chunk, first + r + 1, first + rows, next);
        const auto begin = static_cast<std::size_t>(chunk.indptr[first + r]);
        const auto end = static_cast<std::size_t>(chunk.indptr[first + r + 1]);
        const auto name_of = [&](std::size_t k) { return chunk.name_of(begin + k); };
        if (chunk.all_ones && ones.size() < end - begin) ones.resize(end - begin, 1);
        const double* const values = chunk.all_ones ? ones.data() : chunk.value.data() + begin;
        const Row<std::int32_t, double> x{slots.data(), values, end - begin};
        std::size_t at = 0;
        if constexpr (std::remove_cvref_t<decltype(play)>::binary)
          if ((at = chunk.repeated_name(begin, end) - begin) != x.size)
            return {static_cast<std::int64_t>(r), of_a_sum(Fault::not_binary), static_cast<std::int64_t>(begin + at)};
        const Fault fault = round(play, r, x, name_of, chunk.key.data() + begin, slots.data(), at);
        if (fault != Fault::none) return {static_cast<std::int64_t>(r), fault, static_cast<std::int64_t>(begin + at)};
        if (names_.size() != known) find_unknown(chunk, first + r + 1, first + rows, next);
      }
      return {static_cast<std::int64_t>(rows)};
    });
  }
  static bool is_of_ones(const Chunk& chunk, std::size_t r) {
    return chunk.is_of_ones(static_cast<std::size_t>(chunk.indptr[r]), static_cast<std::size_t>(chunk.indptr[r + 1]));
  }
  template <class Game>
  void find_row(const Game& play, const Chunk& chunk, std::size_t r, std::size_t last, std::vector<std::int32_t>& slots) const {
    if (r >= last) return;
    if (play.settings().avx2)
      look_up_avx2(play, chunk, r, slots);
    else
      look_up<false>(play, chunk, r, slots);
  }
  template <class Game>
#ifdef MISTAKEBOUND_X86
  MISTAKEBOUND_AVX2
#endif
  void look_up_avx2(const Game& play, const Chunk& chunk, std::size_t r, std::vector<std::int32_t>& slots) const {
    look_up<true>(play, chunk, r, slots);
  }
  template <bool Avx2, class Game>
  [[gnu::always_inline]] void look_up(const Game& play, const Chunk& chunk, std::size_t r, std::vector<std::int32_t>& slots) const {
    const auto begin = static_cast<std::size_t>(chunk.indptr[r]), end = static_cast<std::size_t>(chunk.indptr[r + 1]);
    if (slots.size() < end - begin) slots.resize(end - begin);
    const Key* const keys = chunk.key.data();
    std::int32_t* slot = slots.data();
    const bool far = play.large();
    std::size_t k = begin;
    for (const std::size_t stop = std::min(end, std::max(begin + look_ahead, chunk.key.size()) - look_ahead); k < stop; ++k) {
      __builtin_prefetch(keys + k + 4 * look_ahead);  // the keys themselves: another thread has written them
      names_.fetch(keys[k + look_ahead]);
      *slot = find<Avx2>(chunk, k);
      if (far) play.fetch(*slot);
      ++slot;
    }
    for (; k < end; ++k) *slot++ = find<Avx2>(chunk, k);
  }
  // Learning has given ids to some names: look again for those of the next row that had none.
  void find_unknown(const Chunk& chunk, std::size_t r, std::size_t last, std::vector<std::int32_t>& slots) const {
    if (r >= last) return;
    const auto begin = static_cast<std::size_t>(chunk.indptr[r]), end = static_cast<std::size_t>(chunk.indptr[r + 1]);
    for (std::size_t k = begin; k < end; ++k)
      if (slots[k - begin] == 0) slots[k - begin] = find(chunk, k);
  }
  template <bool Avx2 = false>
  [[gnu::always_inline]] std::int32_t find(const Chunk& chunk, std::size_t k) const {
    return names_.find<Avx2>(chunk.key[k], [&] { return chunk.name_of(k); });
  }

  [[noreturn]] static void blame(Fault fault, const NamedExample& example, std::size_t at) {
    const std::string_view name = at < example.size ? example.name[at] : std::string_view();
    if (at < example.size && example.is_sum(at)) fault = of_a_sum(fault);
    PyErr_SetObject(fault_type, nb::make_tuple(static_cast<int>(fault), nb::str(name.data(), name.size())).ptr());
    throw nb::python_error();
  }

  std::optional<AnyPlay> play_;
  std::string rule_;
  double parameter_;
  Names names_;
  std::unique_ptr<NamedExample> spare_;
  std::mutex mutex_;
  int forks_seen_ = forks;
  bool playing_ = false, torn_ = false;
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

NB_MODULE(core_of_main, m) {
  using namespace mistakebound;
  m.doc() = "The compiled twin of mistakebound.reference: one loop, every linear rule.";
#if defined(__unix__) || defined(__APPLE__)
  pthread_atfork(nullptr, nullptr, [] { ++forks; });
#endif
  m.def("ignore_leaks", [] { nb::set_leak_warnings(false); });
  fault_type = PyErr_NewException("mistakebound._core.Fault", PyExc_ValueError, nullptr);
  m.attr("Fault") = nb::handle(fault_type);
  nb::class_<Engine> engine(m, "Engine", "One rule's play: weights, names, and the record of what happened.");
  engine.def(nb::init<const std::string&, double, double, bool, double, double, bool, std::size_t, std::size_t, bool>(),
             "rule"_a, "parameter"_a, "threshold"_a, "strict"_a, "update_margin"_a, "bias"_a, "named"_a, "width"_a,
             "limit_bytes"_a, "growing"_a = false);
  add_csr<std::int32_t, float>(engine);
  add_csr<std::int32_t, double>(engine);
  add_csr<std::int64_t, float>(engine);
  add_csr<std::int64_t, double>(engine);
  add_dense<float>(engine);
  add_dense<double>(engine);
  engine.def("learn_named", &Engine::learn_named, "x"_a, "label"_a)
      .def("score_named", &Engine::score_named, "x"_a)
      .def("play_chunk", &Engine::play_chunk, "chunk"_a, "labels"_a, "first"_a = 0)
      .def("score_chunk", &Engine::score_chunk, "chunk"_a, "out"_a.noconvert(), "predictions"_a.noconvert())
      .def("unknown_rows", &Engine::unknown_rows, "chunk"_a, "rows"_a)
      .def("counts", &Engine::counts)
      .def("predictions", &Engine::predictions, "first"_a, "last"_a)
      .def("mistake_rounds", &Engine::mistake_rounds, "first"_a, "last"_a)
      .def("kept", &Engine::kept, "first"_a, "last"_a)
      .def("names", &Engine::names)
      .def("slots", &Engine::slots)
      .def("width", &Engine::width)
      .def("z", &Engine::z)
      .def("use_simd", &Engine::use_simd, "avx2"_a)
      .def("__getstate__", &Engine::state)
      .def("__setstate__", [](Engine& self, nb::tuple state) {
        const auto s = nb::cast<nb::tuple>(state[0]);
        new (&self) Engine(nb::cast<std::string>(s[0]), nb::cast<double>(s[1]), nb::cast<double>(s[2]), nb::cast<bool>(s[3]),
                           nb::cast<double>(s[4]), nb::cast<double>(s[5]), nb::cast<bool>(s[6]),
                           nb::cast<std::size_t>(s[7]), nb::cast<std::size_t>(s[8]), nb::cast<bool>(s[9]));
        try {
          self.restore(state);
        } catch (...) {
          self.~Engine();  // Python will not: for it, there is none yet
          throw;
        }
      });
  const auto view = [](const auto& numbers, nb::handle owner) {
    using T = typename std::remove_cvref_t<decltype(numbers)>::value_type;
    return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(numbers.data(), {numbers.size()}, owner));
  };
  const auto checked_row = [](const Parsed& self, std::size_t row) {
    return row < self.chunk.rows() ? row : throw nb::index_error();
  };
  nb::class_<Parsed>(m, "Chunk", "Some rows of a text, parsed.")
      .def_ro("named", &Parsed::named)
      .def_prop_ro("text", [](const Parsed& self) -> nb::object {
        if (self.given.is_valid()) return self.given;
        if (self.chunk.text.empty() && self.consumed > 0) throw nb::value_error("the text of this chunk was not kept");
        return nb::bytes(self.chunk.text.data(), self.chunk.text.size());
      })
      .def_ro("consumed", &Parsed::consumed)
      .def_ro("lines", &Parsed::lines)
      .def("__len__", [](const Parsed& self) { return self.chunk.rows(); })
      .def_prop_ro("labels", [](const Parsed& self) { return list_of_bytes(self.chunk.labels); })
      .def_prop_ro("label_ids", [](const Parsed& self) { return nb::bytes(self.chunk.label_ids.data(), self.chunk.label_ids.size()); })
      .def_prop_ro("other_labels", [](const Parsed& self) { return list_of_bytes(self.chunk.other_labels); })
      .def_prop_ro("bad", [](const Parsed& self) {
        nb::list all;
        for (std::size_t k = 0; k < self.bad.size(); ++k)
          all.append(nb::make_tuple(self.bad_row[k], self.bad[k].line, self.bad[k].column,
                                    nb::bytes(self.bad[k].what.data(), self.bad[k].what.size())));
        return all;
      })
      .def("pack", [](const Parsed& self) {
        const std::string bytes = cache::pack(self);
        return nb::bytes(bytes.data(), bytes.size());
      })
      // Without the GIL, for it looks at every byte; what is returned is Python's.
      .def_static("unpack", [](nb::handle buffer) {
        static const auto spares = std::make_shared<Spares>();
        auto parsed = std::make_unique<Parsed>(spares);
        const auto bytes = nb::cast<Bytes>(buffer);
        parsed->given = nb::borrow(buffer);
        nb::gil_scoped_release release;
        cache::unpack({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, *parsed);
        return parsed.release();
      }, nb::rv_policy::take_ownership, "packed"_a)
      .def_prop_ro("width", [](const Parsed& self) { return std::int64_t{self.chunk.largest_index} + 1; })
      .def("line", [checked_row](const Parsed& self, std::size_t row) { return self.chunk.line[checked_row(self, row)]; }, "row"_a)
      .def("importance", [checked_row](const Parsed& self, std::size_t row) {
        return self.chunk.remark_of(checked_row(self, row)).importance;
      }, "row"_a)
      .def_ro("weighted", &Parsed::weighted)
      .def("tag", [checked_row](const Parsed& self, std::size_t row) {
        const std::string_view tag = self.chunk.remark_of(checked_row(self, row)).tag;
        return nb::bytes(tag.data(), tag.size());
      }, "row"_a)
      .def("name", [](const Parsed& self, std::size_t at) {
        if (!self.named || at >= self.chunk.features()) throw nb::index_error();
        const std::string_view name = self.chunk.name_of(at);
        return nb::bytes(name.data(), name.size());
      }, "at"_a)
      .def("different_names", [](const Parsed& self) {
        const auto [names, ids] = self.different_names();
        return nb::make_tuple(list_of_bytes(names), to_numpy(ids.data(), ids.size()));
      })
      .def_prop_ro("indptr", [view](nb::handle self) { return view(nb::cast<const Parsed&>(self).chunk.indptr, self); })
      .def_prop_ro("index", [view](nb::handle self) { return view(nb::cast<const Parsed&>(self).chunk.index, self); })
      .def_prop_ro("value", [view](nb::handle self) {
        const Chunk& chunk = nb::cast<const Parsed&>(self).chunk;
        if (!chunk.value.empty()) return view(chunk.value, self);
        const std::vector<double> ones(chunk.features(), 1.0);
        return to_numpy(ones.data(), ones.size());
      });
  nb::class_<Reader>(m, "Reader", "Parses text of one format.")
      .def(nb::init<const std::string&, bool, bool>(), "kind"_a, "zero_based"_a = false, "label_optional"_a = false)
      .def_static("table", &Reader::table, "beginning"_a, nb::kw_only(), "label"_a = "", "ignore"_a = Strings(),
                  "text"_a = Strings(), "categorical"_a = Strings(), "words"_a = 1, "letters"_a = 0, "bins"_a = 0,
                  "interact"_a = std::vector<std::pair<std::string, std::string>>(), "separator"_a = nb::none(),
                  "header"_a = nb::none(), "missing"_a = nb::none(), "zeros"_a = false)
      .def_static("json", &Reader::json, "label"_a = "label", nb::kw_only(), "ignore"_a = Strings(), "text"_a = Strings(),
                  "words"_a = 1, "letters"_a = 0, "bins"_a = 0, "zeros"_a = false)
      .def_prop_ro("named", &Reader::named)
      .def_prop_ro("columns", &Reader::columns)
      // The names of a table's columns are the reader's own: it lives for as long as a chunk does.
      .def("parse", &Reader::parse, nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(), "text"_a, "last"_a,
           "most_bad"_a = 0, "first"_a = false)
      .def("read", &Reader::read, nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(), "descriptor"_a, "begin"_a, "size"_a,
           "last"_a, "most_bad"_a = 0, "keep_text"_a = false);
  m.def("read_at", [](int descriptor, std::int64_t begin, std::size_t size) {
    nb::object bytes = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
    if (!bytes.is_valid()) throw nb::python_error();
    raise(read_at(descriptor, begin, PyBytes_AsString(bytes.ptr()), size));
    return bytes;
  }, "descriptor"_a, "begin"_a, "size"_a, "Some bytes of a file, all of them.");
  m.def("end_of_line", &end_of_line, "descriptor"_a, "begin"_a, "middle"_a, "size"_a,
        "Where a block of a file that should end at `middle` ends with a whole line.");
  m.def("give_back", [](nb::handle mapped, std::size_t begin, std::size_t end) {
    const auto bytes = nb::cast<Bytes>(mapped);
    if (begin > end || end > bytes.size()) throw nb::index_error();
    nb::gil_scoped_release release;
    give_back(bytes.data() + begin, end - begin);
  }, "mapped"_a, "begin"_a, "end"_a, "Drop whole pages of a mapped file from memory, without holding Python's lock.");
  m.def("has_avx2", &cpu_has_avx2, "Whether this machine runs the AVX2 kernel.");
  bind_tables(m);
  bind_experts(m);
}

// nanobind does not support subinterpreters: it would deadlock on the GIL, and one import there corrupts the types of
// the main interpreter. So the import fails before nanobind runs: in PyInit (which later Pythons call in the main
// interpreter) and again in Py_mod_exec.
namespace mistakebound {
namespace {

bool in_main_interpreter() {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return true;
  PyErr_SetString(PyExc_ImportError, "mistakebound cannot be used in a subinterpreter: import it in the main one, or in another process");
  return false;
}

using Fill = int (*)(PyObject*);
Fill fill = nullptr;  // what nanobind does
int fill_in_main(PyObject* module) { return in_main_interpreter() ? fill(module) : -1; }

}  // namespace
}  // namespace mistakebound

extern "C" NB_EXPORT PyObject* PyInit__core();
extern "C" PyObject* PyInit__core() {
  using namespace mistakebound;
  if (!in_main_interpreter()) return nullptr;
  PyObject* const made = PyInit_core_of_main();
  if (made == nullptr || fill != nullptr || !PyObject_TypeCheck(made, &PyModuleDef_Type)) return made;
  for (PyModuleDef_Slot* slot = reinterpret_cast<PyModuleDef*>(made)->m_slots; slot->slot != 0; ++slot) {
    if (slot->slot != Py_mod_exec) continue;
    fill = reinterpret_cast<Fill>(slot->value);
    slot->value = reinterpret_cast<void*>(fill_in_main);
  }
  return made;
}
