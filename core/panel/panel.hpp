// The panel: sixteen members score a row, the combiner predicts, and all learn. Twin of src/mistakebound/panel.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "panel/combiner.hpp"
#include "panel/core.hpp"
#include "panel/interactions.hpp"
#include "panel/line_members.hpp"
#include "panel/roster.hpp"
#include "panel/side_members.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

// The last three labels, and how often each label followed them.
struct History {
  double last = 0;  // as a number of three bits
  double positives[8] = {}, negatives[8] = {};

  double score() const {
    const auto now = static_cast<std::size_t>(last);
    return ln_ratio(positives[now] + .4, negatives[now] + .4);
  }
  void learn(bool positive) {
    const auto now = static_cast<std::size_t>(last);
    (positive ? positives : negatives)[now] += 1;
    if (positives[now] + negatives[now] > 250) positives[now] *= .5, negatives[now] *= .5;
    last = static_cast<double>((now << 1 | (positive ? 1U : 0U)) & 7U);
  }
};

template <std::size_t Width>
class Panel final : public Core {
 public:
  explicit Panel(const Roster& roster)
      : with_sides_(roster.has(hinge) || roster.has(sgd) || roster.has(winnow)), combiner_(roster) {}

  std::size_t features() const override { return lines_.features(); }
  std::size_t capacity() const override { return capacity_; }
  void reserve(std::size_t features) override {
    if (features <= capacity_) return;
    lines_.reserve(features);
    if (with_sides_) sides_.reserve(features);
    interactions_.reserve(features);
    capacity_ = features;
  }
  void resize(std::size_t features) override {
    reserve(features);
    lines_.resize(features);
  }
  const Line* lines() const override { return lines_.table(); }
  bool regular(const std::int32_t* index, const float* value, std::size_t size, float& largest) const override {
    return regular_values(value, size, largest) && below(index, size, features());
  }

  void play(Block& block) override {
    follow(block.features);
    lines_.fetch_with(with_sides_ ? sides_.large_table() : nullptr);
    play_lines(block);
    lines_.fetch_with(nullptr);
    play_rest(block, false);
    combine(block);
  }
  void play_lines(Block& block) override {
    for (std::size_t r = 0; r < block.rows(); ++r) {
      const Row x = block.row(r);
      lines_.score(x, block, r);
      lines_.learn(x, block.label[r], block.scores(r));
    }
  }
  void play_rest(Block& block) override {
    follow(block.features);
    play_rest(block, true);
  }
  void combine(Block& block) override { combiner_.play(block); }

  Verdict predict(Block& block, std::size_t r) override {
    follow(block.features);
    const Row x = block.row(r);
    lines_.score(x, block, r);
    score_rest(x, block, r, false);
    return block.verdict[r] = combiner_.predict(block.scores(r));
  }

  std::vector<Standing> standings() const override { return combiner_.standings(); }
  Totals totals() const override { return combiner_.totals(); }

  PanelState state() override {
    PanelState it;
    follow(features());
    const auto add = [&](std::ptrdiff_t i) {
      it.records.insert(it.records.end(), lines_.record(i), lines_.record(i) + line_floats);
      if (with_sides_)
        it.records.insert(it.records.end(), sides_.record(i), sides_.record(i) + side_floats);
      else
        it.records.insert(it.records.end(), side_floats, 0.0f);
      it.records.insert(it.records.end(), interactions_.moments(i), interactions_.moments(i) + moment_floats);
    };
    for (std::size_t i = 0; i < features(); ++i) {
      if (lines_.record(static_cast<std::ptrdiff_t>(i))[scale] == 0) continue;  // it was never learned
      it.features.push_back(static_cast<std::uint32_t>(i));
      add(static_cast<std::ptrdiff_t>(i));
    }
    add(constant_index);
    interactions_.copy(it);
    each_number([&it](double& number) { it.numbers.push_back(number); });
    return it;
  }
  void restore(const PanelState& from, std::size_t features) override {
    std::size_t count = 0;
    each_number([&count](double&) { ++count; });
    if (from.numbers.size() != count) throw std::invalid_argument("the numbers of the combiner have a wrong size");
    if (from.records.size() != (from.features.size() + 1) * feature_floats)
      throw std::invalid_argument("the records of the features have a wrong size");
    resize(features);
    follow(features);
    const float* record = from.records.data();
    const auto take = [&](std::ptrdiff_t i) {
      std::copy_n(record, line_floats, lines_.record(i));
      if (with_sides_) std::copy_n(record + line_floats, side_floats, sides_.record(i));
      std::copy_n(record + line_floats + std::size_t{side_floats}, moment_floats, interactions_.moments(i));
      record += feature_floats;
    };
    for (const std::uint32_t i : from.features) {
      if (i >= features) throw std::invalid_argument("a record has no feature");
      take(static_cast<std::ptrdiff_t>(i));
    }
    take(constant_index);
    interactions_.restore(from);
    const double* next = from.numbers.data();
    each_number([&next](double& number) { number = *next++; });
    combiner_.restored();
  }

 private:
  // Extend the tables of the second step. Their memory is reserved, so this never fails.
  void follow(std::size_t features) {
    if (with_sides_) sides_.resize(features);
    interactions_.resize(features);
  }

  // `ahead`: prefetch what later rows need.
  void play_rest(Block& block, bool ahead) {
    for (std::size_t r = 0; r < block.rows(); ++r) {
      const Row x = block.row(r);
      double* const scores = block.scores(r);
      const int label = block.label[r];
      score_rest(x, block, r, ahead);
      if (with_sides_) sides_.learn(x, label, block.scaled(r), block.norm[r], scores);
      interactions_.learn(x, label, scores);
      history_.learn(label > 0);
    }
  }
  void score_rest(const Row& x, Block& block, std::size_t r, bool ahead) {
    double* const scores = block.scores(r);
    if (with_sides_)
      sides_.score(x, block.scaled(r), block.norm[r], scores, ahead);
    else
      scores[hinge] = scores[sgd] = scores[winnow] = 0;
    interactions_.score(x, block.frequent(r), scores);
    scores[history] = history_.score();
  }

  template <class Visit>
  void each_number(Visit visit) {
    lines_.each_number(visit);
    visit(history_.last);
    for (double& count : history_.positives) visit(count);
    for (double& count : history_.negatives) visit(count);
    combiner_.each_number(visit);
  }

  bool with_sides_;
  std::size_t capacity_ = 0;
  LineMembers lines_;
  SideMembers sides_;
  Interactions interactions_;
  History history_;
  Combiner<Width> combiner_;
};

inline std::unique_ptr<Core> make_panel(const Roster& roster) {
  if (roster.count == members && !roster.has(members)) return std::make_unique<Panel<members>>(roster);
  if (roster.count <= 12) return std::make_unique<Panel<12>>(roster);
  return std::make_unique<Panel<most_members>>(roster);
}

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
