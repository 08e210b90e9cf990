// Plays the panel, with the same functions that Play (play.hpp) has for a linear rule. Rows are played in blocks.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "names/names.hpp"
#include "panel/core.hpp"
#include "panel/pipeline.hpp"
#include "panel/shared_core.hpp"
#include "play/example.hpp"
#include "play/record.hpp"
#include "play/rows.hpp"
#include "play/values.hpp"

namespace mistakebound {

// The token of a named feature: 64 bits that depend only on its name, so they are the same in every learner.
inline std::uint64_t token_of(const Key& key) {
  const std::uint64_t mixed = (key.low ^ 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL + key.high * 0xC2B2AE3D27D4EB4FULL;
  return mixed ^ mixed >> 32;
}

inline panel::Roster roster_of(const Settings& settings) {
  bool own[panel::members];
  for (std::size_t i = 0; i < panel::members; ++i) own[i] = (settings.members >> i & 1U) != 0;
  return {own, settings.joined};
}

class PanelPlay final : public panel::LabelPanel {
 public:
  static constexpr bool binary = false, computes_weights = true, in_blocks = true;
  static constexpr std::string_view id = "panel";

  explicit PanelPlay(const Settings& settings) : settings_(settings) {
    make();
    resize(settings.named ? 1 : settings.width);
  }

  Record record;
  std::optional<EarlierPrediction> earlier;  // if set, the next round uses this prediction instead of a new one
  bool keep_thread = false;                  // whether more batches will follow soon, so the second thread waits for them
  std::vector<double> joined;                // scores of the members from outside, for the next row
  const double* weights = nullptr;           // of the next rows; null: all are 1
  const Settings& settings() const { return settings_; }
  const panel::Core& core() const { return *core_; }
  std::size_t slots() const { return core_->features(); }
  // The number of threads decides how features lie in memory.
  void use_threads(std::size_t threads) {
    if (shared_ != nullptr || is_shared_) return;
    if ((settings_.threads > 1) == (threads > 1)) return;
    settings_.threads = threads;
    make_again();
  }
  // End the second thread; the next batch may start it again.
  void rest() {
    keep_thread = false;
    blocks_->stop();
  }
  void use_avx2(bool avx2) {
    if (shared_ != nullptr || is_shared_) throw std::logic_error("panels that share views keep their SIMD level");
    settings_.avx2 = avx2;
    make_again();
  }

  // For panels of several labels that learn from the same rows: this game reads the rows if its settings say so, and the games of the
  // labels play them. It takes over the views of the first label.
  panel::SharedCore* shared_core() { return shared_; }
  void add_label(PanelPlay& label, bool is_first) {
    if (shared_ == nullptr || label.shared_ != nullptr || label.settings_.avx2 != settings_.avx2 || label.settings_.joined > 0)
      throw std::invalid_argument("this panel cannot learn with the panels of other labels");
    label.use_threads(1);
    panel::ViewsCore& views = shared_->views();
    if (is_first) label.core_->copy_to(views);
    label.core_->share(views);
    label.is_shared_ = true;
    label.prefetched_ = label.core_->prefetched();
    prefetched_ = core_->prefetched();
  }
  bool is_shared() const { return is_shared_; }
  void play_shared(panel::Block& block, const panel::SlotsOfRows& slots) override {
    record.make_room_for_rounds(panel::Block::most_rows);
    core_->play_shared(block, slots);
    count(block);
  }

  // Reserve a power of two, because the number of features grows row by row. Unused memory is not paged in.
  void reserve(std::size_t features) override {
    if (features <= core_->capacity()) return;
    flush();  // no thread may use the tables while they move
    core_->reserve(std::bit_ceil(features));
  }
  void resize(std::size_t features) override {
    if (is_shared_ && features == slots()) return;
    core_->resize(features);
    prefetched_ = core_->prefetched();
  }
  void widen(std::size_t width) {
    if (width <= settings_.width) return;
    reserve(width);
    resize(width);
    settings_.width = width;
  }
  // Whether the tables do not fit into the cache of a core. Then prefetching them saves time.
  bool large() const { return slots() * panel::feature_floats * sizeof(float) > large_bytes; }
  [[gnu::always_inline]] void fetch(std::int32_t slot) const { __builtin_prefetch(prefetched_.first + prefetched_.places * slot, 1, 2); }

  bool is_positive(double logit) const { return logit >= settings_.threshold; }
  double normalised(double logit) const { return logit; }

  // A batch of rows: `predictions` and, unless null, `scores` get what is predicted for each of them. When it ends, also by an
  // exception, all rows that were added have been played.
  class Batch {
   public:
    Batch(PanelPlay& play, std::size_t rows, std::uint8_t* predictions, double* scores)
        : play_(play), kept_(play.record, predictions, rows) {
      play.record.measures.make_room();
      play.next_prediction_ = predictions, play.next_score_ = scores;
      if (play.settings_.threads > 1 && (rows >= least_rows_for_two || play.keep_thread)) play.blocks_->start();
    }
    ~Batch() noexcept(false) {
      play_.flush();
      if (!play_.keep_thread) play_.blocks_->stop();
    }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

   private:
    PanelPlay& play_;
    Record::Batch kept_;  // ends after the rows were played
  };

  // Check a row, then add it to the block. `prepare` gives slots to new names, `token_of(k)` is the token of feature k of a named
  // row. `Stays`: whether the row stays in memory until the batch ends, with `more` indices after it.
  template <bool Stays = false, class Index, class Value, class Prepare, class TokenOf>
  Fault add(const Row<Index, Value>& x, std::int8_t label, std::size_t& at, Prepare prepare, TokenOf token_of, std::size_t more = 0) {
    if (label != 1 && label != -1) return Fault::label;
    const double weight = weights != nullptr ? *weights : 1;
    if (!is_weight(weight)) return Fault::weight;
    float largest = 0;
    const float* written = nullptr;  // the values as float32, in the block
    if constexpr (is_wide<Index, Value>) {
      float* const to = blocks_->block().room_for(x.size).value;
      if (x.beyond == 0 && core_->narrowed(x.index, x.value, x.size, to, largest)) written = to;
    }
    if (written == nullptr)
      if (const Fault fault = checked(x, largest, at); fault != Fault::none) return fault;
    record.make_room_for_rounds(2 * panel::Pipeline::most_rows);
    prepare();  // may play and clear the block, if the tables must grow
    panel::Block& block = blocks_->block();
    block.set_features(slots());
    if constexpr (Stays && std::is_same_v<Index, std::int32_t> && std::is_same_v<Value, float>)
      block.add(x.index, x.value, x.size, more, largest, label, weight);
    else
      copy(x, largest, label, token_of, block, written, weight);
    if (weights != nullptr) ++weights;
    join(block);
    if (block.full()) blocks_->push([this](panel::Block& full) { count(full); });
    return Fault::none;
  }

  // Play one round at once.
  template <class Index, class Value, class Prepare, class TokenOf>
  Fault round(const Row<Index, Value>& x, std::int8_t label, bool& positive, std::size_t& at, Prepare prepare, TokenOf token_of) {
    std::uint8_t prediction = 0;
    Fault fault;
    {
      const Batch batch(*this, 1, &prediction, nullptr);
      fault = add(x, label, at, prepare, token_of);
    }
    positive = prediction != 0;
    return fault;
  }

  // Predict one row without learning. A feature that is not in the tables counts as never seen.
  template <class Index, class Value, class TokenOf>
  Fault score(const Row<Index, Value>& x, double& logit, std::size_t& at, TokenOf token_of) {
    float largest = 0;
    if (const Fault fault = checked(x, largest, at); fault != Fault::none) return fault;
    panel::Block& block = blocks_->block();
    block.set_features(slots());
    copy(x, largest, 1, token_of, block);
    join(block);
    logit = core_->predict(block, 0).logit;
    block.clear();
    return Fault::none;
  }

  // The same, and what the parts of the row add to the scores of the members.
  template <class Index, class Value, class TokenOf>
  Fault explain(const Row<Index, Value>& x, panel::Parts& to, std::size_t& at, TokenOf token_of) {
    float largest = 0;
    if (const Fault fault = checked(x, largest, at); fault != Fault::none) return fault;
    panel::Block& block = blocks_->block();
    block.set_features(slots());
    copy(x, largest, 1, token_of, block);
    join(block);
    core_->explain(block, 0, to);
    block.clear();
    return Fault::none;
  }
  float scale_of(std::size_t slot) { return core_->scale_of(slot); }

  template <class Rows>
  Stop play(const Rows& batch, const std::int8_t* y, std::uint8_t* predictions, double* scores) {
    const Batch running(*this, static_cast<std::size_t>(batch.rows), predictions, scores);
    return each_row<true>(*this, batch, [&](const auto& x, std::int64_t r, std::size_t& at) {
      return add<true>(x, y[r], at, [] {}, ByIndex{}, after(batch, x));
    });
  }
  template <class Value>
  Stop play(const Dense<Value>& batch, const std::int8_t* y, std::uint8_t* predictions, double* scores) {
    const Batch running(*this, static_cast<std::size_t>(batch.rows), predictions, scores);
    return each_row<true>(*this, batch, [&](const auto& x, std::int64_t r, std::size_t& at) {
      return add(x, y[r], at, [] {}, ByIndex{});
    });
  }
  template <class Rows>
  Stop scores(const Rows& batch, double* out, std::uint8_t* predictions) {
    return each_row<false>(*this, batch, [&](const auto& x, std::int64_t r, std::size_t& at) {
      const Fault fault = score(x, out[r], at, ByIndex{});
      predictions[r] = is_positive(out[r]) ? 1 : 0;
      return fault;
    });
  }

  panel::PanelState state() { return core_->state(); }
  // Throws std::invalid_argument if the state is not that of such a panel.
  void restore(const panel::PanelState& state, std::size_t features) {
    core_->restore(state, features);
    prefetched_ = core_->prefetched();
  }

  // Rows of files and of names: their values are written to the block as float32, then checked there.
  template <class Index, class Value>
  static constexpr bool is_wide = std::is_same_v<Index, std::int32_t> && std::is_same_v<Value, double>;

  struct ByIndex {};  // in place of `token_of`: a feature is identified by its index

 private:
  static constexpr std::size_t large_bytes = std::size_t{1} << 19;
  static constexpr std::size_t least_rows_for_two = 1024;  // below, starting a thread takes longer than it saves

  void make() {
    const panel::Roster roster = roster_of(settings_);
    blocks_.reset();
    if (settings_.shared) {
      make_shared_core();
      return;
    }
#ifdef MISTAKEBOUND_LEVELS
    if (settings_.avx2 && __builtin_cpu_supports("fma"))
      core_ = panel::avx2_panel(roster, settings_.threads > 1);
    else
#endif
      core_ = panel::plain_panel(roster, settings_.threads > 1);
    blocks_ = std::make_unique<panel::Pipeline>(*core_);
  }
  void make_shared_core() {
    std::unique_ptr<panel::SharedCore> made;
#ifdef MISTAKEBOUND_LEVELS
    if (settings_.avx2 && __builtin_cpu_supports("fma"))
      made = panel::avx2_shared();
    else
#endif
      made = panel::plain_shared();
    shared_ = made.get();
    core_ = std::move(made);
    blocks_ = std::make_unique<panel::Pipeline>(*core_);
  }
  void make_again() {
    const panel::PanelState state = core_->state();
    const std::size_t features = slots();
    make();
    restore(state, features);
  }
  void flush() {
    blocks_->push([this](panel::Block& block) { count(block); });
    blocks_->drain([this](panel::Block& block) { count(block); });
  }

  // How many indices lie after a row of a CSR matrix. Rows with irregular indices are copies, of another type.
  template <class Rows, class Index, class Value>
  static std::size_t after(const Rows& batch, const Row<Index, Value>& x) {
    if constexpr (std::is_same_v<Rows, Csr<Index, Value>>)
      return static_cast<std::size_t>((batch.index + batch.nonzeros) - (x.index + x.size));
    else
      return 0;
  }

  // Indices must be below the width, and values between 1e-30 and 1e30 in size.
  template <class Index, class Value>
  Fault checked(const Row<Index, Value>& x, float& largest, std::size_t& at) const {
    if constexpr (std::is_same_v<Index, std::int32_t> && std::is_same_v<Value, float>)
      if (core_->regular(x.index, x.value, x.size, largest)) [[likely]]
        return Fault::none;
    const Fault fault = learnable_below(x, slots() + x.beyond, at);
    if (fault == Fault::none) largest = largest_size(x);
    return fault;
  }

  template <class Index, class Value, class TokenOf>
  void copy(const Row<Index, Value>& x, float largest, std::int8_t label, TokenOf token_of, panel::Block& block, const float* written = nullptr,
            double weight = 1) {
    constexpr bool named = !std::is_same_v<TokenOf, ByIndex>;
    const panel::Block::Arrays to = block.room_for(x.size);
    const auto last = static_cast<Index>(slots());
    if (written != nullptr && written == to.value) {
      std::copy_n(x.index, x.size, to.index);
    } else {
      for (std::size_t k = 0; k < x.size; ++k) {
        to.index[k] = x.beyond > 0 && x.index[k] >= last ? panel::unknown_index : static_cast<std::int32_t>(x.index[k]);
        to.value[k] = static_cast<float>(x.value[k]);
      }
    }
    if constexpr (named)
      for (std::size_t k = 0; k < x.size; ++k) to.token[k] = token_of(k);
    else if (x.beyond > 0)
      for (std::size_t k = 0; k < x.size; ++k) to.token[k] = static_cast<std::uint64_t>(x.index[k]);
    block.added(x.size, largest, named || x.beyond > 0, label, weight);
  }
  // Give the scores of the members from outside to the row that was added last.
  void join(panel::Block& block) const { std::copy(joined.begin(), joined.end(), block.scores(block.rows() - 1) + panel::members); }

  // Record the rounds of a block that was played.
  void count(panel::Block& block) {
    for (std::size_t r = 0; r < block.rows(); ++r) {
      const panel::Verdict& verdict = block.verdict[r];
      const bool truth = block.label[r] > 0;
      const std::int64_t delay = earlier ? record.updates - earlier->updates : 0;
      const bool guarded = settings_.threshold == 0;  // the guard is about this threshold of the logit only
      const bool positive = delay > 0 ? earlier->positive : guarded ? verdict.positive : is_positive(verdict.logit);
      if (delay > 0)
        record.measures.add(earlier->score, truth);
      else
        record.measures.add(verdict.probability, 1 - verdict.probability, verdict.logit, truth);
      record.note_delay(delay);
      record.count(positive, truth, true);
      *next_prediction_++ = positive ? 1 : 0;
      if (next_score_ != nullptr) *next_score_++ = verdict.logit;
    }
  }

  Settings settings_;
  std::unique_ptr<panel::Core> core_;
  panel::SharedCore* shared_ = nullptr;  // the same, if this game reads rows for the games of several labels
  bool is_shared_ = false;               // whether another game reads the rows
  std::unique_ptr<panel::Pipeline> blocks_;
  panel::Prefetched prefetched_{};
  std::uint8_t* next_prediction_ = nullptr;
  double* next_score_ = nullptr;
};

}  // namespace mistakebound
