// The engine of one learner: the loop (play.hpp) for the linear rule with a given id, or the panel, and the names of its features. It has
// no lock. The caller must let only one thread at a time use it (bindings/lock.hpp).
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "names/named_row.hpp"
#include "names/names.hpp"
#include "play/class_game.hpp"
#include "play/class_perceptron.hpp"
#include "play/class_play.hpp"
#include "play/panel_play.hpp"
#include "play/play.hpp"
#include "play/record.hpp"
#include "play/repeats.hpp"
#include "read/chunk.hpp"
#include "rules/rules.hpp"

namespace mistakebound {

// The state of a learner, on which predictions and updates depend. Counts and kept rounds are in Record.
struct Snapshot {
  std::vector<std::string> names;
  std::vector<float> state, bias;  // the rule's floats of every slot, and of the constant feature
  std::vector<double> scalars;     // numbers of the rule that all features share
  double factor = 0;
  Total total;
  double peak = 0;
  panel::PanelState panel;  // of a panel, which has none of the numbers above
  panel::ClassState classes;  // the same for a panel of several classes
};

class Engine {
  // These come first, because their return types are deduced.
  template <class Do>
  auto visit(Do work) {
    return std::visit(work, *play_);
  }
  template <class Do>
  auto visit(Do work) const {
    return std::visit(work, *play_);
  }
  // Call `work` with the game of a linear rule. Throws std::logic_error for a panel.
  template <class Do>
  auto linear(Do work) const {
    return std::visit(
        [&work](const auto& play) {
          if constexpr (is_panel<decltype(play)>)
            return not_linear<decltype(work(std::declval<const Play<Perceptron>&>()))>();
          else
            return work(play);
        },
        *play_);
  }
  static auto tokens_of(const Key* keys) {
    return [keys](std::size_t k) { return token_of(keys[k]); };
  }
  // Call `work` with the game of a panel. Throws std::logic_error for a linear rule.
  template <class Do>
  auto of_panel(Do work) {
    if (PanelPlay* const play = panel()) return work(*play);
    if (ClassPlay* const play = classes()) return work(*play);
    throw std::logic_error("a linear rule has no members");
  }
  template <class Result>
  static Result not_linear() {
    throw std::logic_error("a panel, and a learner of several classes, have no single weight for each feature");
  }
  template <class Game>
  static constexpr bool has_classes = std::is_base_of_v<ClassGame, std::remove_cvref_t<Game>>;
  template <class Game>
  static constexpr bool is_panel = std::is_same_v<std::remove_cvref_t<Game>, PanelPlay> || has_classes<Game>;

 public:
  // Throws std::invalid_argument if no rule has this id. `limit_bytes`: see Record.
  Engine(std::string_view rule, double parameter, const Settings& settings, std::size_t limit_bytes)
      : rule_(rule), parameter_(parameter) {
    make(Rules{}, settings);
    record().limit_bytes = limit_bytes;
  }

  const std::string& rule() const { return rule_; }
  double parameter() const { return parameter_; }
  const Settings& settings() const {
    return *visit([](const auto& play) { return &play.settings(); });
  }
  Record& record() {
    return *visit([](auto& play) { return &play.record; });
  }
  const Record& record() const {
    return *visit([](const auto& play) { return &play.record; });
  }
  const Names& names() const { return *names_; }
  std::size_t slots() const {
    return visit([](const auto& play) { return play.slots(); });
  }
  // The functions up to `panel` are only valid for linear rules. Number of floats per feature:
  std::size_t floats() const {
    return linear([](const auto& play) { return play.floats; });
  }
  void copy_z(float* to) const {
    linear([to](const auto& play) { play.copy_z(to); });
  }
  float bias_z() const {
    return linear([](const auto& play) { return play.bias_z(); });
  }
  // The weights that a rule with scalars computes from its state: of every slot, and of the constant feature.
  void copy_weights(double* to) const {
    linear([to](const auto& play) { play.copy_weights(to); });
  }
  double bias_weight() const {
    return linear([](const auto& play) { return play.bias_weight(); });
  }
  // The panel of two or of several classes; null for other rules.
  PanelPlay* panel() { return std::get_if<PanelPlay>(&*play_); }
  const PanelPlay* panel() const { return std::get_if<PanelPlay>(&*play_); }
  ClassPlay* classes() { return std::get_if<ClassPlay>(&*play_); }
  const ClassPlay* classes() const { return std::get_if<ClassPlay>(&*play_); }
  // The multiclass Perceptron, and any learner of several classes; null for other rules.
  ClassPerceptron* class_perceptron() { return std::get_if<ClassPerceptron>(&*play_); }
  ClassGame* class_game() { return classes() != nullptr ? static_cast<ClassGame*>(classes()) : class_perceptron(); }
  // Let the panel of a label learn with this engine, which reads rows for several labels. Both have the same names from then on. Rows
  // that were learned before count as rows without the label. Throws std::invalid_argument if the panel does not fit.
  void add_label(Engine& label, bool is_first) {
    if (panel() == nullptr || label.panel() == nullptr || label.settings().named != settings().named ||
        (!settings().named && label.settings().width != settings().width))
      throw std::invalid_argument("this panel cannot learn with the panels of other labels");
    if (is_first) names_ = label.names_;
    bool same = label.names().size() <= names().size();
    for (std::size_t id = 0; same && id < label.names().size(); ++id) same = label.names().name(id) == names().name(id);
    if (!same) throw std::invalid_argument("a panel has other names of features than the panels of other labels");
    panel()->add_label(*label.panel(), is_first);
    label.names_ = names_;
  }
  // Whether this is the panel of a label, and another engine reads its rows.
  bool is_shared() const { return panel() != nullptr && panel()->is_shared(); }

  // While an object of this class exists, rows are played for these labels.
  class UseLabels {
   public:
    // `predictions`: all of the first label, then of the second, and so on.
    UseLabels(Engine& engine, const std::vector<Engine*>& labels, const std::int8_t* y, std::size_t rows, std::uint8_t* predictions, bool two_threads)
        : core_(*engine.panel()->shared_core()) {
      for (std::size_t k = 0; k < labels.size(); ++k) {
        batches_.push_back(std::make_unique<PanelPlay::Batch>(*labels[k]->panel(), rows, predictions + k * rows, nullptr));
        panels_.push_back(labels[k]->panel());
      }
      core_.begin({panels_.data(), panels_.size(), y, rows}, two_threads);
    }
    // Play the rows that wait. Also if playing the batch has failed: all rows that were read must be played.
    void finish() { core_.finish(); }
    ~UseLabels() {
      try {
        finish();
      } catch (...) {  // the caller has called `finish`, or gets another exception
      }
      core_.end();
    }
    UseLabels(const UseLabels&) = delete;
    UseLabels& operator=(const UseLabels&) = delete;

   private:
    mistakebound::panel::SharedCore& core_;
    std::vector<std::unique_ptr<PanelPlay::Batch>> batches_;
    std::vector<mistakebound::panel::LabelPanel*> panels_;
  };

  void use_avx2(bool avx2) {
    visit([avx2](auto& play) { play.use_avx2(avx2 && cpu_has_avx2()); });
  }

  // Predict, then learn each row of a batch (Csr or Dense). Labels are +1 and -1. `scores` gets the score of each row before it
  // is learned, unless it is null.
  template <class Batch>
  Stop play(const Batch& batch, const std::int8_t* y, std::uint8_t* predictions, double* scores = nullptr) {
    return visit([&](auto& play) { return play.play(batch, y, predictions, scores); });
  }
  template <class Batch>
  Stop scores(const Batch& batch, double* out, std::uint8_t* predictions) {
    return visit([&](auto& play) { return play.scores(batch, out, predictions); });
  }

  // While an object of this class exists, rounds use an earlier prediction instead of a new one.
  class UseEarlier {
   public:
    UseEarlier(Engine& engine, const EarlierPrediction& earlier) : engine_(engine) { engine_.set_earlier(earlier); }
    ~UseEarlier() { engine_.set_earlier(std::nullopt); }
    UseEarlier(const UseEarlier&) = delete;
    UseEarlier& operator=(const UseEarlier&) = delete;

   private:
    Engine& engine_;
  };

  // While an object of this class exists, rows have these weights; null: all are 1.
  class UseWeights {
   public:
    UseWeights(Engine& engine, const double* weights) : engine_(engine) { engine_.set_weights(weights); }
    ~UseWeights() { engine_.set_weights(nullptr); }
    UseWeights(const UseWeights&) = delete;
    UseWeights& operator=(const UseWeights&) = delete;

   private:
    Engine& engine_;
  };

  // Predict, then learn rows of a chunk from `first` on. Names are looked up row by row, because learning a row may give ids to
  // names of the next row.
  Stop play(const Chunk& chunk, std::size_t first, std::size_t rows, const std::int8_t* y, std::uint8_t* predictions,
            double* scores = nullptr) {
    if (panel() != nullptr) panel()->keep_thread = true;
    if (!settings().named)
      return play(Csr<std::int32_t, double>{chunk.indptr.data() + first, static_cast<std::int64_t>(rows), chunk.index.data(),
                                            chunk.value.data(), static_cast<std::int64_t>(chunk.value.size())},
                  y, predictions, scores);
    return visit([&](auto& play) { return play_named(play, chunk, first, rows, y, predictions, scores); });
  }
  // Score the first rows of a chunk of named examples. `out` is null for several classes, which have no single score.
  Stop scores(const Chunk& chunk, std::size_t rows, double* out, std::uint8_t* predictions) {
    return visit([&](auto& play) {
      return each_named(play, chunk, 0, rows, [&](std::size_t r, const auto& x, const auto&, const auto* keys, auto*, auto& at) {
        double raw = 0;
        const Fault fault = score_row(play, x, keys, raw, at);
        if constexpr (!has_classes<decltype(play)>) {  // which writes a prediction by itself
          out[r] = play.normalised(raw);
          predictions[r] = play.is_positive(raw) ? 1 : 0;
        }
        return fault;
      });
    });
  }
  // Count those of the first rows of a chunk in which no feature has a known name.
  std::size_t unknown_rows(const Chunk& chunk, std::size_t rows) const {
    std::size_t unknown = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      const auto end = static_cast<std::size_t>(chunk.indptr[r + 1]);
      auto k = static_cast<std::size_t>(chunk.indptr[r]);
      while (k < end && find(chunk, k) == 0) ++k;
      unknown += k == end ? 1 : 0;
    }
    return unknown;
  }

  // Play one round with a named example. `at` is the feature at fault.
  Fault learn(NamedRow& example, std::int8_t label, bool& positive, std::size_t& at) {
    example.find_slots(*names_);
    return visit([&](auto& play) {
      const Row<std::int32_t, double> row{example.slot.data(), example.value.data(), example.size};
      const auto prepare = [&] {
        give_slots(play, [&](std::size_t k) { return example.name[k]; }, example.key.data(), example.slot.data(), example.size);
        return row;
      };
      if constexpr (is_panel<decltype(play)>) {
        return play.round(row, label, positive, at, prepare, tokens_of(example.key.data()));
      } else {
        play.record.expect(1);
        const Fault fault = play.round(row, label, positive, at, prepare);
        const std::uint8_t prediction = positive ? 1 : 0;
        if (fault == Fault::none) play.record.add_predictions(&prediction, 1);
        return fault;
      }
    });
  }
  Fault score(NamedRow& example, double& score, bool& positive, std::size_t& at) {
    example.find_slots(*names_);
    return visit([&](auto& play) {
      const Row<std::int32_t, double> row{example.slot.data(), example.value.data(), example.size};
      double raw = 0;
      const Fault fault = score_row(play, row, example.key.data(), raw, at);
      score = play.normalised(raw);
      positive = play.is_positive(raw);
      return fault;
    });
  }

  // Explain the prediction of a panel for one named example, or for the only row of a matrix.
  Fault explain(NamedRow& example, panel::Parts& to, std::size_t& at) {
    example.find_slots(*names_);
    return of_panel([&](auto& play) {
      const Row<std::int32_t, double> row{example.slot.data(), example.value.data(), example.size};
      to.value.assign(row.value, row.value + row.size);
      return play.explain(row, to, at, tokens_of(example.key.data()));
    });
  }
  template <class Batch>
  Stop explain(const Batch& batch, panel::Parts& to) {
    return of_panel([&](auto& play) {
      return each_row<false>(play, batch, [&](const auto& x, std::int64_t, std::size_t& at) {
        to.index.assign(x.index, x.index + x.size);
        to.value.assign(x.value, x.value + x.size);
        return play.explain(x, to, at, PanelPlay::ByIndex{});
      });
    });
  }
  // What slots from `first` to `last`, each alone in a row with its largest value so far, add to the scores of the members up to
  // the interactions of single features: members times classes numbers of each slot, all 0 if it was never learned.
  static constexpr std::size_t members_alone = std::size_t{panel::adagrad_pairs} + 1;
  std::vector<double> alone(std::size_t first, std::size_t last) {
    return of_panel([&](auto& play) {
      std::vector<double> all;
      panel::Parts of;
      for (std::size_t slot = first; slot < std::min(last, play.slots()); ++slot) {
        const auto index = static_cast<std::int32_t>(slot);
        // Stored as float32, a value of 1e30 is a little larger than the largest one that can be learned.
        const double value = std::min<double>(play.scale_of(slot), largest_learnable);
        const Row<std::int32_t, double> row{&index, &value, value != 0 ? std::size_t{1} : 0};
        const Key key = settings().named && slot > 0 ? Key(names_->name(slot - 1)) : Key();
        std::size_t at = 0;
        if (settings().named)
          play.explain(row, of, at, tokens_of(&key));
        else
          play.explain(row, of, at, PanelPlay::ByIndex{});
        if (row.size == 0) {
          all.insert(all.end(), members_alone * of.classes, 0);
        } else {
          all.insert(all.end(), of.of_places.begin(), of.of_places.begin() + static_cast<std::ptrdiff_t>(of.of_places.size() / 2));
          all.insert(all.end(), of.of_slots.begin(), of.of_slots.end());
        }
      }
      return all;
    });
  }

  Snapshot snapshot() {
    Snapshot it;
    for (std::size_t id = 0; id < names_->size(); ++id) it.names.emplace_back(names_->name(id));
    if (panel() != nullptr) {
      it.panel = panel()->state();
      return it;
    }
    if (classes() != nullptr) {
      it.classes = classes()->state();
      return it;
    }
    if (class_perceptron() != nullptr) {
      it.state = class_perceptron()->weights();
      it.bias = class_perceptron()->bias();
      return it;
    }
    it.state.resize(slots() * floats());
    it.bias.resize(floats());
    linear([&](const auto& play) {
      play.copy_state(it.state.data());
      play.copy_bias(it.bias.data());
      it.scalars = play.scalars();
      it.factor = play.factor();
      it.total = play.total();
      it.peak = play.peak();
    });
    return it;
  }
  // Restore a state into a new engine. Throws std::invalid_argument if the number of floats is not that of the rule, or if the
  // stored total is not the sum of the weights.
  void restore(const Snapshot& it) {
    if (panel() != nullptr || class_game() != nullptr) {
      for (const std::string& name : it.names) names_->insert(name);
      const std::size_t features = settings().named ? names_->size() + 1 : settings().width;
      if (panel() != nullptr)
        panel()->restore(it.panel, features);
      else if (classes() != nullptr)
        classes()->restore(it.classes, features);
      else
        class_perceptron()->restore(it.state, it.bias, features);
      return;
    }
    if (it.bias.size() != floats() || it.state.size() % floats() != 0)
      throw std::invalid_argument("the stored state must have " + std::to_string(floats()) + " floats for each feature");
    if (it.scalars.size() != linear([](const auto& play) { return play.scalars().size(); }))
      throw std::invalid_argument("the stored state must have the scalars of the rule");
    for (const std::string& name : it.names) names_->insert(name);
    visit([&](auto& play) {
      if constexpr (!is_panel<decltype(play)>) {
        play.set_scalars(it.scalars);
        play.restore(it.state.data(), it.state.size() / floats(), it.bias.data(), it.factor, it.total, it.peak);
        if (!play.total_fits()) throw std::invalid_argument("the stored total of the weights is not the sum of the weights");
      }
    });
  }
  // Make `to`, a new panel of several classes, continue this panel of two, whose labels become these classes: 0 and 1, or 1 and 0.
  // Throws std::invalid_argument for other classes, and for a panel with members from outside.
  void convert(Engine& to, std::int32_t negative, std::int32_t positive) {
    Snapshot it = snapshot();
    std::array<double, 2> rows{};
    rows[positive == 0 ? 0 : 1] = positive_rows(it.panel);
    rows[positive == 0 ? 1 : 0] = static_cast<double>(record().rounds) - rows[positive == 0 ? 0 : 1];
    it.classes = mistakebound::panel::FromBinary(it.panel, roster_of(settings()), negative, positive, rows).state();
    to.restore(it);
    to.classes()->continue_record(record(), negative, positive, rows.data());
  }

 private:
  void set_earlier(const std::optional<EarlierPrediction>& earlier) {
    visit([&](auto& play) {
      if constexpr (requires { play.earlier; }) play.earlier = earlier;
    });
  }

  void set_weights(const double* weights) {
    visit([&](auto& play) {
      if constexpr (requires { play.weights; }) play.weights = weights;
    });
  }
  // How many rows had the positive label. The state has the sum of their weights, which is the same if all weights are 1; the
  // record counts rows, unless some of them were not measured and not kept.
  double positive_rows(const mistakebound::panel::PanelState& state) const {
    const Record& r = record();
    if (r.measures.rounds == r.rounds && !r.measures.positives.empty())
      return static_cast<double>(std::accumulate(r.measures.positives.begin(), r.measures.positives.end(), std::int64_t{0}));
    const double mass = std::round(state.numbers[0]) - 1;
    return std::clamp(mass, static_cast<double>(r.false_negatives), static_cast<double>(r.rounds - r.false_positives));
  }

  template <class... Rule>
  static auto any_play(RuleList<Rule...>) -> std::variant<Play<Rule>..., PanelPlay, ClassPlay, ClassPerceptron>;
  using AnyPlay = decltype(any_play(Rules{}));

  template <class... Rule>
  void make(RuleList<Rule...>, const Settings& settings) {
    if (rule_ == PanelPlay::id) {
      play_.emplace(std::in_place_type<PanelPlay>, settings);
      return;
    }
    if (rule_ == ClassPlay::id) {
      play_.emplace(std::in_place_type<ClassPlay>, settings);
      return;
    }
    if (rule_ == ClassPerceptron::id) {
      play_.emplace(std::in_place_type<ClassPerceptron>, settings);
      return;
    }
    const bool found = ((rule_ == Rule::id && (play_.emplace(std::in_place_type<Play<Rule>>, Rule(parameter_), settings), true)) || ...);
    if (!found) throw std::invalid_argument("there is no rule '" + rule_ + "'");
  }

  template <class Game, class Index, class Value>
  static Fault score_row(Game& play, const Row<Index, Value>& x, const Key* keys, double& raw, std::size_t& at) {
    if constexpr (is_panel<Game>)
      return play.score(x, raw, at, tokens_of(keys));
    else
      return play.score(x, raw, at);
  }
  template <class Game>
  Stop play_named(Game& play, const Chunk& chunk, std::size_t first, std::size_t rows, const std::int8_t* y,
                  std::uint8_t* predictions, double* scores) {
    const Record::Batch kept(record(), predictions, rows);
    SummedOnes summed;
    return each_named(play, chunk, first, rows, [&](std::size_t r, const auto& x, const auto& name_of, const auto* keys,
                                                   auto* slots, auto& at) {
      bool positive = false;
      const auto prepare = [&] {
        give_slots(play, name_of, keys, slots, x.size);
        return is_of_ones(chunk, first + r) ? summed(x) : x;
      };
      const Fault fault = play.round(x, y[r], positive, at, prepare);
      predictions[r] = positive ? 1 : 0;
      if (scores != nullptr) scores[r] = play.last_score;
      return fault;
    });
  }
  Stop play_named(PanelPlay& play, const Chunk& chunk, std::size_t first, std::size_t rows, const std::int8_t* y,
                  std::uint8_t* predictions, double* scores) {
    const PanelPlay::Batch batch(play, rows, predictions, scores);
    return each_named(play, chunk, first, rows, [&](std::size_t r, const auto& x, const auto& name_of, const auto* keys,
                                                   auto* slots, auto& at) {
      return play.add(x, y[r], at, [&] { give_slots(play, name_of, keys, slots, x.size); }, tokens_of(keys));
    });
  }

  template <class Game>
    requires std::derived_from<Game, ClassGame>
  Stop play_named(Game& play, const Chunk& chunk, std::size_t first, std::size_t rows, const std::int8_t*, std::uint8_t*, double*) {
    return each_named(play, chunk, first, rows, [&](std::size_t, const auto& x, const auto& name_of, const auto* keys, auto* slots, auto& at) {
      return play.add(x, at, [&] { give_slots(play, name_of, keys, slots, x.size); }, tokens_of(keys));
    });
  }

  template <class Game, class NameOf>
  void give_slots(Game& play, NameOf name_of, const Key* keys, std::int32_t* slots, std::size_t size) {
    std::size_t unknown = 0;
    for (std::size_t k = 0; k < size; ++k) unknown += slots[k] == 0 ? 1 : 0;
    if (unknown == 0) return;
    play.reserve(play.slots() + unknown);  // before names are added: if it fails, no name is without a weight
    for (std::size_t k = 0; k < size; ++k) {
      if (slots[k] != 0) continue;
      slots[k] = static_cast<std::int32_t>(names_->insert(name_of(k), keys[k]) + 1);
      play.resize(names_->size() + 1);
    }
  }

  // Call `round(r, row, name_of, keys, slots, at)` for rows of a chunk of named examples from `first` on, until one has a
  // fault. The slots of the next row are looked up while the weights of the current row are loaded from memory.
  template <class Game, class Round>
  Stop each_named(Game& play, const Chunk& chunk, std::size_t first, std::size_t rows, Round round) {
    std::vector<std::int32_t> slots, next;
    std::vector<double> ones;
    find_row(play, chunk, first, first + rows, next);
    for (std::size_t r = 0; r < rows; ++r) {
      slots.swap(next);
      const std::size_t known = names_->size();
      find_row(play, chunk, first + r + 1, first + rows, next);
      const auto begin = static_cast<std::size_t>(chunk.indptr[first + r]);
      const auto end = static_cast<std::size_t>(chunk.indptr[first + r + 1]);
      const auto name_of = [&](std::size_t k) { return chunk.name_of(begin + k); };
      if (chunk.all_ones && ones.size() < end - begin) ones.resize(end - begin, 1);
      const double* const values = chunk.all_ones ? ones.data() : chunk.value.data() + begin;
      const Row<std::int32_t, double> x{slots.data(), values, end - begin};
      std::size_t at = 0;
      if constexpr (Game::binary)
        if ((at = chunk.repeated_name(begin, end) - begin) != x.size)
          return {static_cast<std::int64_t>(r), Fault::not_binary, static_cast<std::int64_t>(begin + at), true};
      Fault fault;
      // Without weights that are kept, a score is not a plain sum: repeated words must be summed first.
      if (Game::computes_weights && chunk.repeated_name(begin, end) != end)
        fault = summed_round(r, chunk, begin, end, round, at);
      else
        fault = round(r, x, name_of, chunk.key.data() + begin, slots.data(), at);
      if (fault != Fault::none) return {static_cast<std::int64_t>(r), fault, static_cast<std::int64_t>(begin + at)};
      if (names_->size() != known) find_unknown(chunk, first + r + 1, first + rows, next);
    }
    return {static_cast<std::int64_t>(rows)};
  }
  template <class Round>
  Fault summed_round(std::size_t r, const Chunk& chunk, std::size_t begin, std::size_t end, Round& round,
                     std::size_t& at) {
    NamedRow row;
    row.grow(end - begin);
    for (std::size_t k = begin; k < end; ++k) row.add(chunk.name_of(k), chunk.value_of(k));
    row.may_repeat = true;
    row.find_slots(*names_);
    const Row<std::int32_t, double> x{row.slot.data(), row.value.data(), row.size};
    return round(r, x, [&](std::size_t k) { return row.name[k]; }, row.key.data(), row.slot.data(), at);
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
      __builtin_prefetch(keys + k + 4 * look_ahead);  // another thread wrote the keys: they are not in this core's cache
      names_->fetch(keys[k + look_ahead]);
      *slot = find<Avx2>(chunk, k);
      if (far) play.fetch(*slot);
      ++slot;
    }
    for (; k < end; ++k) *slot++ = find<Avx2>(chunk, k);
  }
  // Look up again the names of the next row that had no id, because learning a row gave ids to some names.
  void find_unknown(const Chunk& chunk, std::size_t r, std::size_t last, std::vector<std::int32_t>& slots) const {
    if (r >= last) return;
    const auto begin = static_cast<std::size_t>(chunk.indptr[r]), end = static_cast<std::size_t>(chunk.indptr[r + 1]);
    for (std::size_t k = begin; k < end; ++k)
      if (slots[k - begin] == 0) slots[k - begin] = find(chunk, k);
  }
  template <bool Avx2 = false>
  [[gnu::always_inline]] std::int32_t find(const Chunk& chunk, std::size_t k) const {
    return names_->find<Avx2>(chunk.key[k], [&] { return chunk.name_of(k); });
  }

  std::optional<AnyPlay> play_;
  std::string rule_;
  double parameter_;
  std::shared_ptr<Names> names_ = std::make_shared<Names>();
};

}  // namespace mistakebound
