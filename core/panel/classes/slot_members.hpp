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
  // 0.9 GB: only with more than 112 classes, pairs of slot and class can be more than these.
  static constexpr std::size_t most_slot_blocks = std::size_t{7} << 19;
  static constexpr double least_gradient = .001;  // below, a row does not change the slots

  Cells<slot_fields> cells{most_slot_blocks};

  explicit SlotMembers(std::size_t most_dense) : most_dense_(most_dense) { cells.resize(slot_count); }

  void score(const SlotNumbers& used, std::size_t classes, ClassScores& z) {
    for (std::size_t order = 0; order < 3; ++order) {
      coins_.assign(z.stride(), 0), adagrads_.assign(z.stride(), 0);
      if (classes <= most_dense_)
        sum_dense(used, order, classes);
      else
        sum_sparse(used, order);
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
    for (std::size_t order = 0; order < 3; ++order) {
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
      const std::uint32_t* const at = used.orders[order].data();
      for (std::size_t k = 0; k < used.counts[order]; ++k) learn_slot(at[k], active, places, classes, step);
    }
  }

 private:
  struct alignas(32) Step {
    float coin[lanes], adagrad[lanes], floor[lanes];
  };

  void sum_dense(const SlotNumbers& used, std::size_t order, std::size_t classes) {
    const std::uint32_t* const at = used.orders[order].data();
    const std::size_t count = used.counts[order];
    blocks_.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
      blocks_[k] = cells.first(at[k]);
      __builtin_prefetch(cells.block(blocks_[k]));
    }
    for (std::size_t b = 0; b * lanes < classes; ++b) {
      Floats coins = eight(0), adagrads = eight(0);
      for (std::size_t k = 0; k < count; ++k) {
        const Block& cell = *cells.block(blocks_[k]);
        coins = coins + load(cell.at[slot_coin_w]);
        adagrads = adagrads + load(cell.at[slot_adagrad_w]);
        blocks_[k] = cells.next(blocks_[k]);
        if ((b + 1) * lanes < classes) __builtin_prefetch(cells.block(blocks_[k]));
      }
      store(coins_.data() + b * lanes, coins);
      store(adagrads_.data() + b * lanes, adagrads);
    }
  }
  void sum_sparse(const SlotNumbers& used, std::size_t order) {
    for (std::size_t k = 0; k < used.counts[order]; ++k)
      for (std::uint32_t at = cells.first(used.orders[order][k]); at != 0; at = cells.next(at)) {
        const Block& cell = *cells.block(at);
        for (std::size_t j = 0; j < lanes && cell.of[j] != 0; ++j) {
          const auto label = static_cast<std::size_t>(cell.of[j] - 1);
          coins_[label] += cell.at[slot_coin_w][j], adagrads_[label] += cell.at[slot_adagrad_w][j];
        }
      }
  }

  void learn_slot(std::uint32_t slot, const Active& active, const ActivePlaces& places, std::size_t classes, const Step* step) {
    if (classes <= most_dense_) {
      Block* at[most_blocks_of_row];
      dense_blocks(cells, slot, classes, at);
      for (std::size_t b = 0; b < active.blocks(); ++b) learn_block(*at[b], step[b]);
    } else {
      gathered_.gather(cells, slot, active, places);
      for (std::size_t b = 0; b < active.blocks(); ++b) learn_block(gathered_.blocks[b], step[b]);
      gathered_.scatter(active);
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
  std::vector<std::uint32_t> blocks_;
  GatheredCells<slot_fields> gathered_;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
