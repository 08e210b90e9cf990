// The records of an owner for the classes that learn, as blocks in which each active class has its own place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "panel/classes/cells.hpp"
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

// Few classes: the blocks of an owner themselves, because class k is at place k of them. A block that does not exist is block 0.
template <std::size_t Fields>
MISTAKEBOUND_INLINE void find_blocks(Cells<Fields>& cells, std::size_t owner, std::size_t classes, typename Cells<Fields>::Block** to) {
  std::uint32_t at = cells.first(owner);
#pragma GCC unroll 2
  for (std::size_t b = 0; b < most_blocks_of_row; ++b) {
    to[b] = cells.block(at);
    at = (b + 1) * lanes < classes ? cells.next(at) : 0;
  }
}
// Make the records that the blocks lack. Where there are some, the last class has one.
template <std::size_t Fields>
MISTAKEBOUND_INLINE void complete_blocks(Cells<Fields>& cells, std::size_t owner, std::size_t classes, typename Cells<Fields>::Block** to) {
  const std::size_t last = classes - 1;
  if (to[last / lanes]->of[last % lanes] != 0) [[likely]]
    return;
  for (std::size_t k = cells.classes_of(owner); k < classes; ++k) cells.append(owner, static_cast<std::int32_t>(k));
  find_blocks(cells, owner, classes, to);
}
// Fetch lines of a block, from the `First` to before the `Last`, into the cache.
template <std::size_t First, std::size_t Last, class Block>
MISTAKEBOUND_INLINE void fetch(const Block* block) {
  constexpr std::size_t line = 64;
  const char* const begin = reinterpret_cast<const char*>(block);
#pragma GCC unroll 16
  for (std::size_t k = First; k < Last; ++k) __builtin_prefetch(begin + k * line);
}

// Many classes: copies of the records, which are written back after learning.
template <std::size_t Fields>
struct GatheredCells {
  using Block = typename Cells<Fields>::Block;
  Block blocks[most_blocks_of_row];
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
      Block& to = blocks[a / lanes];
      for (std::size_t f = 0; f < Fields; ++f) to.at[f][a % lanes] = from[a].block != nullptr ? from[a].block->at[f][from[a].place] : 0;
    }
  }
  void scatter(const Active& active) const {
    for (std::size_t a = 0; a < active.count; ++a)
      if (from[a].block != nullptr)
        for (std::size_t f = 0; f < Fields; ++f) from[a].block->at[f][from[a].place] = blocks[a / lanes].at[f][a % lanes];
  }
};

// Coin betting with a gradient and with the least size of a bet.
struct Coin {
  Floats w, sum, size_of, reward, most_bet;

  MISTAKEBOUND_INLINE void learn(Floats gradient, Floats floor) {
    const Floats bet = size(gradient);
    reward = most(least(reward + w * gradient, eight(largest_reward)), eight(0));
    sum = sum + gradient;
    size_of = size_of + bet;
    most_bet = most(most_bet, most(bet, floor));
    const Floats least_so_far = most(most_bet, eight(least_bet));
    w = clip((sum * (least_so_far + reward)) / (least_so_far * (size_of + least_so_far)), largest_weight);
  }
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
