// The records of owners and classes in the layout for few or for many classes, and those of the classes that learn from a row.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "panel/classes/cells.hpp"
#include "panel/classes/dense_cells.hpp"
#include "panel/classes/scores.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

inline constexpr std::size_t most_blocks_of_row = most_active / lanes;

// The place of each class among those that learn, or -1.
class ActivePlaces {
 public:
  void reserve(std::size_t classes) {
    if (place_.size() < classes) place_.resize(2 * classes, -1);
  }
  void set(const Active& active) {
    for (std::size_t a = 0; a < active.count; ++a) place_[static_cast<std::size_t>(active.of[a])] = static_cast<std::int8_t>(a);
  }
  void clear(const Active& active) {
    for (std::size_t a = 0; a < active.count; ++a) place_[static_cast<std::size_t>(active.of[a])] = -1;
  }
  std::int8_t of(std::int32_t label) const { return place_[static_cast<std::size_t>(label)]; }

 private:
  std::vector<std::int8_t> place_;
};

// Many classes: a copy of the records of the active classes, which are written back after learning.
template <std::size_t Fields, std::size_t Scored>
struct GatheredCells {
  using Block = typename Cells<Fields>::Block;
  using Layout = Record<Fields, Scored>;
  static constexpr Shape shape{lanes, lanes};
  alignas(64) float record[Fields * most_active];
  typename Cells<Fields>::Cell from[most_active];

  void gather(Cells<Fields>& cells, std::size_t owner, const Active& active, const ActivePlaces& places) {
    for (std::size_t a = 0; a < most_active; ++a) from[a] = {};
    for (std::uint32_t at = cells.first(owner); at != 0; at = cells.next(at)) {
      Block* const block = cells.block(at);
      __builtin_prefetch(cells.block(cells.next(at))->of);
      for (std::size_t j = 0; j < lanes && block->of[j] != 0; ++j)
        if (const std::int8_t a = places.of(block->of[j] - 1); a >= 0) from[a] = {block, j};
    }
    for (std::size_t a = 0; a < most_active; ++a) {
      if (a < active.count && from[a].block == nullptr) from[a] = cells.append(owner, active.of[a]);
      const Block* const block = from[a].block;
      const std::size_t place = from[a].place;
      each_field(a, [&](std::size_t f, std::size_t at) { record[at] = block != nullptr ? block->at[f][place] : 0; });
    }
  }
  void scatter(const Active& active) const {
    for (std::size_t a = 0; a < active.count; ++a)
      if (from[a].block != nullptr)
        each_field(a, [&](std::size_t f, std::size_t at) { from[a].block->at[f][from[a].place] = record[at]; });
  }

 private:
  // Call `visit` with each field of a class, and with its place in the record.
  template <class Visit>
  static MISTAKEBOUND_INLINE void each_field(std::size_t a, Visit visit) {
    const std::size_t scored = Layout::at(shape, 0, a), others = Layout::at(shape, Scored, a);
    for (std::size_t f = 0; f < Scored; ++f) visit(f, scored + f * lanes);
    for (std::size_t f = Scored; f < Fields; ++f) visit(f, others + (f - Scored) * lanes);
  }
};

// The records of all owners: side by side as long as classes are few, otherwise in chains.
template <std::size_t Fields, std::size_t Scored>
class ClassCells {
 public:
  using Dense = DenseCells<Fields, Scored>;
  using Layout = typename Dense::Layout;

  // Beyond `most_blocks`, no further pair is kept once classes are many.
  explicit ClassCells(std::size_t most_dense, std::size_t most_blocks = ~std::size_t{0}) : ClassCells(most_dense, most_blocks, 0) {}

  bool dense() const { return few != nullptr; }
  // Of the records that are scored or learned; those of many classes are copied into one first.
  Shape shape() const { return dense() ? few->shape() : GatheredCells<Fields, Scored>::shape; }
  std::size_t owners() const { return dense() ? few->owners() : many->owners(); }
  void resize(std::size_t owners) { dense() ? few->resize(owners) : many->resize(owners); }
  void reserve_owners(std::size_t owners) { dense() ? few->reserve_owners(owners) : many->reserve_owners(owners); }

  // Change the layout to that of a number of classes. If memory is short, it throws and nothing changes.
  void set_classes(std::size_t classes) {
    if (!dense() || (classes <= most_dense_ && Shape::of(classes) == few->shape())) return;
    PairState all;
    copy(all);
    ClassCells changed(most_dense_, most_blocks_, classes);
    changed.resize(owners());
    changed.restore(all);
    *this = std::move(changed);
  }
  // Allocate memory for what learning `owners` of them adds.
  void make_room(std::size_t owners) { dense() ? few->reserve(owners) : many->reserve(owners * (most_blocks_of_row + 1)); }

  template <class Visit>
  void each(std::size_t owner, Visit visit) const {
    dense() ? few->each(owner, visit) : many->each(owner, visit);
  }
  void copy(PairState& to) const {
    std::vector<std::pair<std::int32_t, std::array<float, Fields>>> records;
    for (std::size_t owner = 0; owner < owners(); ++owner) {
      records.clear();
      each(owner, [&](std::int32_t label, auto number) {
        auto& values = records.emplace_back(label, std::array<float, Fields>{}).second;
        for (std::size_t f = 0; f < Fields; ++f) values[f] = number(f);
      });
      if (records.empty()) continue;
      std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      to.owners.push_back(static_cast<std::uint32_t>(owner));
      to.counts.push_back(static_cast<std::uint32_t>(records.size()));
      for (const auto& [label, values] : records) {
        to.classes.push_back(label);
        to.values.insert(to.values.end(), values.begin(), values.end());
      }
    }
  }
  // Restore checked pairs into empty cells.
  void restore(const PairState& from) {
    std::size_t next = 0;
    for (std::size_t k = 0; k < from.owners.size(); next += from.counts[k++]) {
      const float* const values = from.values.data() + next * Fields;
      if (dense())
        few->restore(from.owners[k], from.counts[k], values);
      else
        many->restore(from.owners[k], from.counts[k], from.classes.data() + next, values);
    }
  }

  // One of them exists.
  std::unique_ptr<Dense> few;
  std::unique_ptr<Cells<Fields>> many;

 private:
  ClassCells(std::size_t most_dense, std::size_t most_blocks, std::size_t classes) : most_dense_(most_dense), most_blocks_(most_blocks) {
    if (most_dense > 0 && classes <= most_dense)
      few = std::make_unique<Dense>(Shape::of(classes));
    else
      many = std::make_unique<Cells<Fields>>(most_blocks);
  }
  std::size_t most_dense_, most_blocks_;
};

// Fetch lines into the cache: those of a record from the `first` to before the `last`.
MISTAKEBOUND_INLINE void fetch(const float* record, std::size_t first, std::size_t last) {
  constexpr std::size_t line = 16;
  for (std::size_t k = first; k < last; ++k) __builtin_prefetch(record + k * line);
}
// The same for a block.
template <std::size_t First, std::size_t Last, class Block>
MISTAKEBOUND_INLINE void fetch(const Block* block) {
  constexpr std::size_t line = 64;
  const char* const begin = reinterpret_cast<const char*>(block);
#pragma GCC unroll 16
  for (std::size_t k = First; k < Last; ++k) __builtin_prefetch(begin + k * line);
}

// Coin betting with a gradient and with the least size of a bet.
template <class V>
struct Coin {
  V w, sum, size_of, reward, most_bet;

  MISTAKEBOUND_INLINE void learn(V gradient, V floor) {
    const V bet = size(gradient);
    reward = most(least(reward + w * gradient, every<V>(largest_reward)), every<V>(0));
    sum = sum + gradient;
    size_of = size_of + bet;
    most_bet = most(most_bet, most(bet, floor));
    const V least_so_far = most(most_bet, every<V>(least_bet));
    w = clip((sum * (least_so_far + reward)) / (least_so_far * (size_of + least_so_far)), largest_weight);
  }
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
