// The panel: sixteen members score a row, the combiner predicts, and all learn. Twin of src/mistakebound/panel.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "panel/combiner.hpp"
#include "panel/core.hpp"
#include "panel/feature_table.hpp"
#include "panel/first_members.hpp"
#include "panel/interactions.hpp"
#include "panel/roster.hpp"
#include "panel/row_checks.hpp"
#include "panel/second_members.hpp"
#include "panel/slot_numbers.hpp"
#include "panel/state.hpp"
#include "panel/third_members.hpp"
#include "panel/tokens.hpp"
#include "panel/used_slots.hpp"

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
  Panel(const Roster& roster, bool two_threads)
      : table_(two_threads, roster.has(hinge) || roster.has(sgd) || roster.has(winnow)), combiner_(roster) {}

  std::size_t features() const override { return table_.size(); }
  std::size_t capacity() const override { return capacity_; }
  void reserve(std::size_t features) override {
    if (features <= capacity_) return;
    table_.reserve(features);
    tokens_.reserve(features);
    capacity_ = features;
  }
  void resize(std::size_t features) override {
    reserve(features);
    table_.resize(features);
  }
  Prefetched prefetched() override {
    return {table_.first(0), table_.layout() == Layout::two_threads_lean ? 8 : 16};
  }
  bool regular(const std::int32_t* index, const float* value, std::size_t size, float& largest) const override {
    return regular_row(index, value, size, features(), largest);
  }
  bool narrowed(const std::int32_t* index, const double* value, std::size_t size, float* to, float& largest) const override {
    return narrowed_row(index, value, size, to, features(), largest);
  }

  void play(Block& block) override {
    tokens_.resize(block.features());
    with_layout([&]<Layout L>() {
      for (std::size_t r = 0; r < block.rows(); ++r) {
        const Row x = block.row(r);
        score<L>(x, table_.large_thirds(), block, r);
        if (block.weight[r] == 0) continue;  // it is predicted, but not learned
        second_.template learn<L>(x, first_, block, r);
        first_.template learn<L>(x, block.label[r], block.weight[r], block.scaled(r), block.scores(r));
      }
    });
    play_third(block);
    play_interactions(block);
    combine(block);
  }
  void play_first(Block& block) override {
    with_layout([&]<Layout L>() {
      for (std::size_t r = 0; r < block.rows(); ++r) {
        const Row x = block.row(r);
        first_.template score<L>(x, table_, nullptr, block, r);
        if (block.weight[r] == 0) continue;
        first_.template learn<L>(x, block.label[r], block.weight[r], block.scaled(r), block.scores(r));
      }
    });
    play_third(block);
  }
  void play_rest(Block& block) override {
    tokens_.resize(block.features());
    with_layout([&]<Layout L>() {
      for (std::size_t r = 0; r < block.rows(); ++r) {
        const Row x = block.row(r);
        second_.template score<L>(x, first_, table_, nullptr, block, r);
        if (block.weight[r] != 0) second_.template learn<L>(x, first_, block, r);
      }
    });
    play_interactions(block);
  }
  void combine(Block& block) override { combiner_.play(block); }

  void copy_to(ViewsCore& views) override {
    if (first_.with_fractions()) throw std::invalid_argument("rounds with weights cannot be shared by several labels");
    views.use_moments(tokens_.table());
    views.resize(features());
    views.rounds() = first_.rounds();
    for (std::size_t i = 0; i < features(); ++i) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      views.feature(at) = {table_.first(at)[scale], count_of_feature(at)};
    }
  }
  void share(ViewsCore& views) override {
    if (table_.layout() != Layout::one_thread) throw std::logic_error("panels that share views must be laid out for one thread");
    if (first_.with_fractions() || features() > views.size()) throw std::invalid_argument("a panel does not fit the panels of other labels");
    const double earlier = views.rounds() - first_.rounds();
    for (std::size_t i = 0; i < features(); ++i)
      if (earlier < 0 || views.feature(static_cast<std::ptrdiff_t>(i)).count < count_of_feature(static_cast<std::ptrdiff_t>(i)))
        throw std::invalid_argument("a panel has counted more rows than the panels of other labels");
    resize(views.size());
    tokens_.share(views.moments());
    if (earlier == 0) return;
    for (std::size_t i = 0; i < features(); ++i) count_earlier(static_cast<std::ptrdiff_t>(i), views.feature(static_cast<std::ptrdiff_t>(i)));
    first_.count_earlier(earlier);
  }
  void play_shared(Block& block, const SlotsOfRows& slots) override {
    for (std::size_t r = 0; r < block.rows(); ++r) {
      const Row x = block.row(r);
      constexpr Layout one = Layout::one_thread;
      first_.template score<one, true>(x, table_, table_.large_thirds(), block, r);
      second_.template score<one>(x, first_, table_, table_.large_thirds(), block, r);
      second_.template learn<one>(x, first_, block, r);
      first_.template learn<one>(x, block.label[r], block.weight[r], block.scaled(r), block.scores(r));
    }
    play_third(block);
    for (std::size_t r = 0; r < block.rows(); ++r) play_slots(slots.row(r), block, r);
    combine(block);
  }

  Verdict predict(Block& block, std::size_t r) override {
    tokens_.resize(block.features());
    const Row x = block.row(r);
    with_layout([&]<Layout L>() { score<L>(x, nullptr, block, r); });
    score_third(x, block, r);
    tokens_.find(x, block.frequent(r), used_);
    score_slots(used_.used(), block.scores(r));
    return block.verdict[r] = combiner_.predict(block.scores(r));
  }

  Verdict explain(Block& block, std::size_t r, Parts& to) override {
    const Verdict verdict = predict(block, r);
    const Row x = block.row(r);
    to.start(x.size, 1);
    first_.explain(x, block.scaled(r), to);
    second_.explain(x, block, r, to);
    if (table_.with_third()) third_.explain(x, block.scaled(r), block.norm(r), to);
    interactions_.explain(used_.used(), tokens_.places(x, block.frequent(r)), to);
    combiner_.explain(block.scores(r), to);
    to.logit = verdict.logit, to.prediction = verdict.positive ? 1 : 0, to.overridden = verdict.overridden;
    return verdict;
  }
  float scale_of(std::size_t feature) override { return table_.first(static_cast<std::ptrdiff_t>(feature))[scale]; }

  std::vector<Standing> standings() const override { return combiner_.standings(); }
  Totals totals() const override { return combiner_.totals(); }
  const Leadership& leadership() const override { return combiner_.leadership(); }

  PanelState state() override {
    PanelState it;
    tokens_.resize(features());
    const auto append = [&it](const float* from, std::size_t count) { it.records.insert(it.records.end(), from, from + count); };
    const auto add = [&](std::ptrdiff_t i) {
      constexpr float none[third_floats] = {};
      append(table_.first(i), half_floats);
      append(table_.second(i), half_floats);
      append(table_.with_third() ? table_.third(i) : none, third_floats);
      append(tokens_.moments(i), moment_floats);
    };
    for (std::size_t i = 0; i < features(); ++i) {
      if (table_.first(static_cast<std::ptrdiff_t>(i))[scale] == 0) continue;  // it was never learned
      it.features.push_back(static_cast<std::uint32_t>(i));
      add(static_cast<std::ptrdiff_t>(i));
    }
    add(constant_index);
    interactions_.copy(it);
    each_number([&it](double& number) { it.numbers.push_back(number); });
    const Leadership& leads = combiner_.leadership();
    for (std::size_t k = 0; k < leads.rounds.size(); ++k) it.leads.insert(it.leads.end(), {leads.rounds[k], leads.members[k]});
    return it;
  }
  void restore(const PanelState& from, std::size_t features) override {
    std::size_t count = 0;
    each_number([&count](double&) { ++count; });
    if (from.numbers.size() != count) throw std::invalid_argument("the numbers of the combiner have a wrong size");
    if (from.records.size() != (from.features.size() + 1) * feature_floats)
      throw std::invalid_argument("the records of the features have a wrong size");
    resize(features);
    tokens_.resize(features);
    const float* next_float = from.records.data();
    const auto take_to = [&next_float](float* to, std::size_t floats) {
      if (to != nullptr) std::copy_n(next_float, floats, to);
      next_float += floats;
    };
    const auto take = [&](std::ptrdiff_t i) {
      take_to(table_.first(i), half_floats);
      take_to(table_.second(i), half_floats);
      take_to(table_.with_third() ? table_.third(i) : nullptr, third_floats);
      take_to(tokens_.moments(i), moment_floats);
    };
    bool with_fractions = false;
    for (const std::uint32_t i : from.features) {
      if (i >= features) throw std::invalid_argument("a record has no feature");
      take(static_cast<std::ptrdiff_t>(i));
      const float* const counts = table_.first(static_cast<std::ptrdiff_t>(i));
      with_fractions |= std::signbit(counts[positives]) || std::signbit(counts[negatives]);
    }
    first_.set_with_fractions(with_fractions);
    take(constant_index);
    interactions_.restore(from);
    const double* next = from.numbers.data();
    each_number([&next](double& number) { number = *next++; });
    // A number that is used as an index.
    if (!(history_.last >= 0 && history_.last <= 7 && history_.last == std::floor(history_.last))) {
      history_.last = 0;
      throw std::invalid_argument("the last three labels must be a whole number from 0 to 7");
    }
    combiner_.restored();
    // Not by `add`: after some were left out, neighbours may be equal.
    Leadership& leads = combiner_.leadership();
    leads = {};
    for (std::size_t k = 0; k + 1 < from.leads.size(); k += 2)
      leads.rounds.push_back(from.leads[k]), leads.members.push_back(from.leads[k + 1]);
  }

 private:
  template <class Do>
  void with_layout(Do work) {
    if (table_.layout() == Layout::one_thread) return work.template operator()<Layout::one_thread>();
    if (table_.layout() == Layout::two_threads) return work.template operator()<Layout::two_threads>();
    return work.template operator()<Layout::two_threads_lean>();
  }

  template <Layout L>
  void score(const Row& x, const Third* third, Block& block, std::size_t r) {
    first_.template score<L>(x, table_, third, block, r);
    second_.template score<L>(x, first_, table_, third, block, r);
  }
  void play_third(Block& block) {
    for (std::size_t r = 0; r < block.rows(); ++r) {
      const Row x = block.row(r);
      score_third(x, block, r);
      if (table_.with_third() && block.weight[r] != 0)
        third_.learn(x, block.label[r], block.weight[r], block.scaled(r), block.norm(r), block.scores(r));
    }
  }
  void score_third(const Row& x, Block& block, std::size_t r) {
    double* const scores = block.scores(r);
    if (table_.with_third())
      third_.score(x, table_, block.scaled(r), block.norm(r), scores);
    else
      scores[hinge] = scores[sgd] = scores[winnow] = 0;
  }
  void play_interactions(Block& block) {
    for (std::size_t r = 0; r < block.rows(); ++r) {
      const Row x = block.row(r);
      tokens_.find(x, block.frequent(r), used_);
      play_slots(used_.used(), block, r);
      if (block.weight[r] != 0) tokens_.learn(x);
    }
  }
  void play_slots(const UsedSlots& used, Block& block, std::size_t r) {
    score_slots(used, block.scores(r));
    if (block.weight[r] != 0) interactions_.learn(used, block.label[r], block.weight[r], block.scores(r));
    history_.learn(block.label[r] > 0);  // the sequence of the labels has no weights
  }
  void score_slots(const UsedSlots& used, double* scores) const {
    interactions_.score(used, scores);
    scores[history] = history_.score();
  }

  // In how many rows a feature occurred.
  std::int32_t count_of_feature(std::ptrdiff_t i) {
    return std::bit_cast<std::int32_t>(table_.first(i)[positives]) + std::bit_cast<std::int32_t>(table_.first(i)[negatives]);
  }
  // Count rows of a feature that were played before this panel began, and did not have its label.
  void count_earlier(std::ptrdiff_t i, const Seen& seen_before) {
    if (seen_before.scale == 0) return;
    if (table_.first(i)[scale] == 0) table_.start(i);
    table_.first(i)[scale] = seen_before.scale;
    const std::int32_t more = seen_before.count - count_of_feature(i);
    table_.first(i)[negatives] = std::bit_cast<float>(std::bit_cast<std::int32_t>(table_.first(i)[negatives]) + more);
  }

  template <class Visit>
  void each_number(Visit visit) {
    first_.each_number(visit);
    visit(history_.last);
    for (double& count : history_.positives) visit(count);
    for (double& count : history_.negatives) visit(count);
    combiner_.each_number(visit);
  }

  // What different threads write lies in different lines of the cache, and in different pairs of lines, which are fetched
  // together.
  static constexpr std::size_t pair = 128;

  std::size_t capacity_ = 0;
  FeatureTable table_;
  alignas(pair) FirstMembers first_;
  ThirdMembers third_;
  alignas(pair) SecondMembers second_;
  Tokens tokens_;
  SlotNumbers used_;  // of the row that was scored last
  Interactions interactions_;
  History history_;
  alignas(pair) Combiner<Width> combiner_;
};

inline std::unique_ptr<Core> make_panel(const Roster& roster, bool two_threads) {
  if (roster.count <= 12) return std::make_unique<Panel<12>>(roster, two_threads);
  if (roster.count <= members) return std::make_unique<Panel<members>>(roster, two_threads);
  return std::make_unique<Panel<most_members>>(roster, two_threads);
}

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
