// Plays rows for the panels of several labels, which share the views of the rows (shared_views.hpp).
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "panel/helper_thread.hpp"
#include "panel/row_checks.hpp"
#include "panel/shared_core.hpp"
#include "panel/shared_views.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class SharedPanels final : public SharedCore {
 public:
  ViewsCore& views() override { return views_; }
  void begin(const LabelledBatch& batch, bool two_threads) override {
    for (std::size_t k = 0; k < batch.count; ++k) batch.panels[k]->reserve(capacity_);
    if (two_threads) helper_.emplace([this](std::size_t thread) { play_labels(thread); });
    batch_ = batch;
    first_row_ = 0;
  }
  void end() noexcept override {
    helper_.reset();
    waiting_ = 0;
    batch_ = {};
  }

  std::size_t features() const override { return views_.size(); }
  std::size_t capacity() const override { return capacity_; }
  void reserve(std::size_t features) override {
    if (features <= capacity_) return;
    for (std::size_t k = 0; k < batch_.count; ++k) batch_.panels[k]->reserve(features);
    views_.reserve(features);
    capacity_ = features;
  }
  // The panels of the labels follow with the next block.
  void resize(std::size_t features) override {
    reserve(features);
    views_.resize(features);
  }
  Prefetched prefetched() override {
    static_assert(sizeof(Seen) == 2 * sizeof(float));
    return {&views_.feature(0).scale, 2};
  }
  bool regular(const std::int32_t* index, const float* value, std::size_t size, float& largest) const override {
    return regular_row(index, value, size, features(), largest);
  }
  bool narrowed(const std::int32_t* index, const double* value, std::size_t size, float* to, float& largest) const override {
    return narrowed_row(index, value, size, to, features(), largest);
  }

  // The rows are copied, and wait until there are many.
  void play(Block& block) override {
    if (batch_.panels == nullptr) throw std::logic_error("panels of several labels need the labels of the rows");
    if (waiting_ == most_waiting) finish();
    if (waiting_ == queue_.size()) queue_.push_back(std::make_unique<Waiting>());
    Waiting& next = *queue_[waiting_];
    copy(block, next.rows);
    views_.look(next.rows, next.slots);
    ++waiting_;
    std::fill_n(block.verdict, block.rows(), Verdict{.5, 0, true, false});
  }
  void finish() override {
    if (waiting_ == 0) return;
    for (std::size_t k = 0; k < batch_.count; ++k) batch_.panels[k]->resize(features());
    next_label_ = 0;
    if (helper_)
      helper_->run();
    else
      play_labels(0);
    for (; waiting_ > 0; --waiting_) first_row_ += queue_[waiting_ - 1]->rows.rows();
    for (std::exception_ptr& error : errors_)
      if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }

  // The panel of each label does all of this.
  void copy_to(ViewsCore&) override { unused(); }
  void share(ViewsCore&) override { unused(); }
  void play_shared(Block&, const SlotsOfRows&) override { unused(); }
  void play_first(Block&) override { unused(); }
  void play_rest(Block&) override { unused(); }
  void combine(Block&) override { unused(); }
  Verdict predict(Block&, std::size_t) override { unused(); }
  Verdict explain(Block&, std::size_t, Parts&) override { unused(); }
  float scale_of(std::size_t) override { unused(); }
  std::vector<Standing> standings() const override { unused(); }
  Totals totals() const override { unused(); }
  const Leadership& leadership() const override { unused(); }
  PanelState state() override { unused(); }
  void restore(const PanelState&, std::size_t) override { unused(); }

 private:
  [[noreturn]] static void unused() { throw std::logic_error("this is done by the panel of each label"); }

  // A block of rows that were looked at, and wait for the labels.
  struct Waiting {
    Rows rows;
    SlotsOfRows slots;
  };
  static constexpr std::size_t most_waiting = 32;

  static void copy(const Block& block, Rows& to) {
    to.clear();
    to.features = block.features();
    for (std::size_t r = 0; r < block.rows(); ++r) {
      const Row x = block.row(r);
      const Rows::Arrays at = to.room_for(x.size);
      std::copy_n(x.index, x.size, at.index);
      std::copy_n(x.value, x.size, at.value);
      if (x.token != nullptr) std::copy_n(x.token, x.size, at.token);
      to.added(x.size, x.largest, x.token != nullptr);
    }
  }
  // Play all rows that wait for one label after the other, until none is left.
  void play_labels(std::size_t thread) noexcept {
    Block& block = blocks_[thread];
    try {
      for (std::size_t k = next_label_++; k < batch_.count; k = next_label_++) {
        const std::int8_t* label = batch_.labels + k * batch_.rows + first_row_;
        for (std::size_t w = 0; w < waiting_; ++w) {
          block.share(queue_[w]->rows);
          std::copy_n(label, block.rows(), block.label);
          label += block.rows();
          std::fill_n(block.weight, block.rows(), 1.0);
          batch_.panels[k]->play_shared(block, queue_[w]->slots);
        }
      }
    } catch (...) {
      errors_[thread] = std::current_exception();
    }
  }

  SharedViews views_;
  std::size_t capacity_ = 0;
  LabelledBatch batch_;
  std::vector<std::unique_ptr<Waiting>> queue_;
  std::size_t waiting_ = 0;
  std::size_t first_row_ = 0;  // of those that wait, in the batch
  Block blocks_[2];            // labels, scores and predictions, for each thread
  std::exception_ptr errors_[2];
  alignas(64) std::atomic<std::size_t> next_label_{0};
  std::optional<HelperThread> helper_;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
