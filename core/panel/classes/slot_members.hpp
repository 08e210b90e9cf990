// The four members that look at products of features, with a weight for each slot and class.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "panel/classes/active_cells.hpp"
#include "panel/classes/views.hpp"
#include "panel/parts.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class SlotMembers {
 public:
  using Block = Cells<slot_fields>::Block;
  // 0.7 GB: only with more than 80 classes, pairs of slot and class can be more than these.
  static constexpr std::size_t most_slot_blocks = std::size_t{5} << 19;
  static constexpr double least_gradient = .001;  // below, a row does not change the slots

  Cells<slot_fields> cells{most_slot_blocks};

  explicit SlotMembers(std::size_t most_dense) : most_dense_(most_dense) { cells.resize(slot_count); }

  void score(const SlotNumbers& used, std::size_t classes, ClassScores& z) {
    const bool dense = classes <= most_dense_;
    if (dense)
      find_all(used, classes);
    else
      find_chains(used);
    Block* const* at = at_.data();
    const std::uint32_t* end = ends_.data();
    for (std::size_t order = 0; order < 3; ++order) {
      coins_.assign(z.stride(), 0), adagrads_.assign(z.stride(), 0);
      const std::size_t count = used.counts[order];
      if (dense) {
        sum_dense(at, count, classes);
        at += count * most_blocks_of_row;
      } else if (count > 0) {
        end += count;
        Block* const* const last = at_.data() + end[-1];
        sum_sparse(at, last);
        at = last;
      }
      float *const coins = z.of(order < 2 ? coin_pairs : coin_triples), *const adagrads = z.of(order < 2 ? adagrad_pairs : adagrad_triples);
      const float value = used.counts[order] > 0 ? used.values[order] : 0;
      for (std::size_t k = 0; k < classes; ++k) coins[k] += value * coins_[k], adagrads[k] += value * adagrads_[k];
    }
  }

  // What each interaction adds to the scores.
  void explain(const SlotNumbers& used, Parts& to) const {
    std::size_t slot = 0;
    for (std::size_t order = 0; order < 3; ++order)
      for (std::size_t n = 0; n < used.counts[order]; ++n, ++slot)
        cells.each(used.orders[order][n], [&](std::int32_t label, const Block& cell, std::size_t j) {
          const auto k = static_cast<std::size_t>(label);
          to.of_slot(slot, 0, k) = static_cast<double>(cell.at[slot_coin_w][j]) * static_cast<double>(used.values[order]);
          to.of_slot(slot, 1, k) = static_cast<double>(cell.at[slot_adagrad_w][j]) * static_cast<double>(used.values[order]);
        });
  }

  void make_room(const SlotNumbers& used) {
    cells.reserve((used.counts[0] + used.counts[1] + used.counts[2]) * (most_blocks_of_row + 1));
  }

  // Learn the row that was scored last.
  void learn(const SlotNumbers& used, const Active& active, const ActivePlaces& places, std::size_t classes, double weight) {
    Block** next = at_.data();
    for (std::size_t order = 0; order < 3; ++order) {
      Block** const at = next;
      next += used.counts[order] * most_blocks_of_row;
      const double* const of_coin = active.gradient[order < 2 ? coin_pairs : coin_triples];
      const double* const of_adagrad = active.gradient[order < 2 ? adagrad_pairs : adagrad_triples];
      double largest = 0;
      for (std::size_t a = 0; a < active.count; ++a) largest = std::fmax(largest, std::fmax(std::fabs(of_coin[a]), std::fabs(of_adagrad[a])));
      if (largest < least_gradient) continue;
      const float x = used.values[order];
      Step step[most_blocks_of_row] = {};
      for (std::size_t a = 0; a < active.count; ++a) {
        Step& to = step[a / lanes];
        to.coin[a % lanes] = static_cast<float>(weight * of_coin[a]) * x;
        to.adagrad[a % lanes] = static_cast<float>(weight * of_adagrad[a]) * x;
        to.floor[a % lanes] = .5f * x;
      }
      const std::uint32_t* const slots = used.orders[order].data();
      if (classes <= most_dense_)
        learn_dense(slots, used.counts[order], at, classes, step);
      else
        learn_sparse(slots, used.counts[order], active, places, step);
    }
  }

 private:
  struct alignas(32) Step {
    float coin[lanes], adagrad[lanes], floor[lanes];
  };
  static constexpr std::size_t lines = sizeof(Block) / 64, ahead = 6;  // how many slots earlier a block is fetched
  static constexpr std::ptrdiff_t far_ahead = 8;                    // and how many blocks

  // Few classes: find the blocks of all slots, and fetch the lines with weights.
  void find_all(const SlotNumbers& used, std::size_t classes) {
    at_.resize((used.counts[0] + used.counts[1] + used.counts[2]) * most_blocks_of_row);
    Block** to = at_.data();
    for (std::size_t order = 0; order < 3; ++order)
      for (std::size_t k = 0; k < used.counts[order]; ++k, to += most_blocks_of_row) {
        find_blocks(cells, used.orders[order][k], classes, to);
        for (std::size_t b = 0; b * lanes < classes; ++b) fetch<0, 1>(to[b]);
      }
  }
  void sum_dense(Block* const* at, std::size_t count, std::size_t classes) {
    for (std::size_t b = 0; b * lanes < classes; ++b, ++at) {
      Floats coins = eight(0), adagrads = eight(0);
      for (std::size_t k = 0; k < count; ++k) {
        const Block& cell = *at[k * most_blocks_of_row];
        coins = coins + load(cell.at[slot_coin_w]);
        adagrads = adagrads + load(cell.at[slot_adagrad_w]);
      }
      store(coins_.data() + b * lanes, coins);
      store(adagrads_.data() + b * lanes, adagrads);
    }
  }
  void learn_dense(const std::uint32_t* slots, std::size_t count, Block** at, std::size_t classes, const Step* step) {
    const std::size_t blocks = (classes + lanes - 1) / lanes;
    for (std::size_t k = 0; k < count; ++k, at += most_blocks_of_row) {
      if (k + ahead < count)
        for (std::size_t b = 0; b < blocks; ++b) fetch<0, lines>(at[ahead * most_blocks_of_row + b]);
      complete_blocks(cells, slots[k], classes, at);
      for (std::size_t b = 0; b < blocks; ++b) learn_block(*at[b], step[b]);
    }
  }
  void learn_sparse(const std::uint32_t* slots, std::size_t count, const Active& active, const ActivePlaces& places, const Step* step) {
    for (std::size_t k = 0; k < count; ++k) {
      gathered_.gather(cells, slots[k], active, places);
      for (std::size_t b = 0; b < active.blocks(); ++b) learn_block(gathered_.blocks[b], step[b]);
      gathered_.scatter(active);
    }
  }
  // Many classes: list the blocks of all slots.
  void find_chains(const SlotNumbers& used) {
    at_.clear(), ends_.clear();
    for (std::size_t order = 0; order < 3; ++order)
      for (std::size_t k = 0; k < used.counts[order]; ++k) {
        for (std::uint32_t block = cells.first(used.orders[order][k]); block != 0; block = cells.next(block)) at_.push_back(cells.block(block));
        ends_.push_back(static_cast<std::uint32_t>(at_.size()));
      }
  }
  void sum_sparse(Block* const* at, Block* const* last) {
    for (; at < last; ++at) {
      if (last - at > far_ahead) fetch<0, 1>(at[far_ahead]), fetch<lines - 1, lines>(at[far_ahead]);
      const Block& cell = **at;
      for (std::size_t j = 0; j < lanes && cell.of[j] != 0; ++j) {
        const auto label = static_cast<std::size_t>(cell.of[j] - 1);
        coins_[label] += cell.at[slot_coin_w][j], adagrads_[label] += cell.at[slot_adagrad_w][j];
      }
    }
  }
  static MISTAKEBOUND_INLINE void learn_block(Block& cell, const Step& by) {
    const auto old = [&cell](std::size_t f) __attribute__((always_inline)) { return load(cell.at[f]); };
    Coin coin_of{old(slot_coin_w), old(slot_coin_sum), old(slot_coin_size), old(slot_coin_reward), old(slot_coin_most)};
    coin_of.learn(load(by.coin), load(by.floor));
    const Floats gradient = load(by.adagrad), total = old(slot_adagrad_sum) + gradient * gradient;
    store(cell.at[slot_adagrad_w], old(slot_adagrad_w) + (gradient * .5f) / root(total + first_sum));
    store(cell.at[slot_adagrad_sum], total);
    store(cell.at[slot_coin_w], coin_of.w), store(cell.at[slot_coin_sum], coin_of.sum);
    store(cell.at[slot_coin_size], coin_of.size_of), store(cell.at[slot_coin_reward], coin_of.reward);
    store(cell.at[slot_coin_most], coin_of.most_bet);
  }

  std::size_t most_dense_;
  std::vector<float> coins_, adagrads_;
  // Of the row that was scored last: the blocks of all slots, and with many classes where those of each slot end.
  std::vector<Block*> at_;
  std::vector<std::uint32_t> ends_;
  GatheredCells<slot_fields> gathered_;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
