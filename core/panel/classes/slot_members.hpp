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
  static constexpr std::size_t scored_fields = slot_adagrad_w + 1;  // the first fields, which scores depend on
  // 0.7 GB: only with more than 80 classes, pairs of slot and class can be more than these.
  static constexpr std::size_t most_slot_blocks = std::size_t{5} << 19;
  static constexpr double least_gradient = .001;  // below, a row does not change the slots

  ClassCells<slot_fields, scored_fields> cells;

  explicit SlotMembers(std::size_t most_dense) : cells(most_dense, most_slot_blocks) { cells.resize(slot_count); }

  void score(const SlotNumbers& used, std::size_t classes, ClassScores& z) {
    const bool dense = cells.dense();
    if (dense)
      find_all(used);
    else
      find_chains(used);
    float* const* at = at_.data();
    Block* const* block = blocks_.data();
    const std::uint32_t* end = ends_.data();
    for (std::size_t order = 0; order < 3; ++order) {
      coins_.assign(z.stride(), 0), adagrads_.assign(z.stride(), 0);
      const std::size_t count = used.counts[order];
      if (dense) {
        Layout::each_part(cells.shape(), [&](auto part) { sum_part(at, count, part); });
        at += count;
      } else if (count > 0) {
        end += count;
        Block* const* const last = blocks_.data() + end[-1];
        sum_sparse(block, last);
        block = last;
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
        cells.each(used.orders[order][n], [&](std::int32_t label, auto number) {
          const auto k = static_cast<std::size_t>(label);
          to.of_slot(slot, 0, k) = static_cast<double>(number(slot_coin_w)) * static_cast<double>(used.values[order]);
          to.of_slot(slot, 1, k) = static_cast<double>(number(slot_adagrad_w)) * static_cast<double>(used.values[order]);
        });
  }

  void make_room(const SlotNumbers& used, std::size_t classes) {
    cells.set_classes(classes);
    cells.make_room(used.counts[0] + used.counts[1] + used.counts[2]);
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
      Step step{};
      for (std::size_t a = 0; a < active.count; ++a) {
        step.coin[a] = static_cast<float>(weight * of_coin[a]) * x;
        step.adagrad[a] = static_cast<float>(weight * of_adagrad[a]) * x;
        step.floor[a] = .5f * x;
      }
      const std::uint32_t* const slots = used.orders[order].data();
      if (cells.dense())
        learn_dense(slots, used.counts[order], classes, step);
      else
        learn_sparse(slots, used.counts[order], active, places, step);
    }
  }

 private:
  using Layout = Record<slot_fields, scored_fields>;
  using Block = Cells<slot_fields>::Block;
  struct alignas(32) Step {
    float coin[most_active], adagrad[most_active], floor[most_active];
  };
  static constexpr std::size_t lines = sizeof(Block) / 64, ahead = 6;  // how many slots earlier a block is fetched
  static constexpr std::ptrdiff_t far_ahead = 8;                    // and how many blocks

  // Few classes: find the records of all slots, and fetch the lines with weights.
  void find_all(const SlotNumbers& used) {
    at_.resize(used.counts[0] + used.counts[1] + used.counts[2]);
    const std::size_t lines_of_scores = Layout::scored_lines(cells.shape());
    float** to = at_.data();
    for (std::size_t order = 0; order < 3; ++order)
      for (std::size_t k = 0; k < used.counts[order]; ++k) {
        *to = cells.few->find(used.orders[order][k]);
        fetch(*to++, 0, lines_of_scores);
      }
  }
  template <std::size_t Lanes>
  void sum_part(float* const* at, std::size_t count, Part<Lanes> part) {
    Vector<Lanes> coins{}, adagrads{};
    for (std::size_t k = 0; k < count; ++k) {
      const float* const record = at[k] + part.scored;
      coins = coins + load_part<Lanes>(record + slot_coin_w * Lanes);
      adagrads = adagrads + load_part<Lanes>(record + slot_adagrad_w * Lanes);
    }
    store_part<Lanes>(coins_.data() + part.first, coins);
    store_part<Lanes>(adagrads_.data() + part.first, adagrads);
  }
  void learn_dense(const std::uint32_t* slots, std::size_t count, std::size_t classes, const Step& step) {
    const Shape shape = cells.shape();
    const std::size_t lines_of_record = Layout::floats(shape) / Layout::line;
    for (std::size_t k = 0; k < count; ++k) {
      if (k + ahead < count) fetch(cells.few->find(slots[k + ahead]), 0, lines_of_record);
      float* const record = cells.few->make(slots[k], classes);
      Layout::each_part(shape, [&](auto part) { learn_part(record, part, step); });
    }
  }
  void learn_sparse(const std::uint32_t* slots, std::size_t count, const Active& active, const ActivePlaces& places, const Step& step) {
    for (std::size_t k = 0; k < count; ++k) {
      gathered_.gather(*cells.many, slots[k], active, places);
      Layout::each_part(cells.shape(), [&](auto part) { learn_part(gathered_.record, part, step); });
      gathered_.scatter(active);
    }
  }
  // Many classes: list the blocks of all slots.
  void find_chains(const SlotNumbers& used) {
    blocks_.clear(), ends_.clear();
    for (std::size_t order = 0; order < 3; ++order)
      for (std::size_t k = 0; k < used.counts[order]; ++k) {
        for (std::uint32_t block = cells.many->first(used.orders[order][k]); block != 0; block = cells.many->next(block)) blocks_.push_back(cells.many->block(block));
        ends_.push_back(static_cast<std::uint32_t>(blocks_.size()));
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
  template <std::size_t Lanes>
  static MISTAKEBOUND_INLINE void learn_part(float* record, Part<Lanes> part, const Step& by) {
    using V = Vector<Lanes>;
    const auto old = [=](std::size_t f) __attribute__((always_inline)) { return load_part<Lanes>(record + Layout::at(part, f)); };
    const auto set = [=](std::size_t f, V value) __attribute__((always_inline)) { store_part<Lanes>(record + Layout::at(part, f), value); };
    const auto of = [=](const float* values) __attribute__((always_inline)) { return load_part<Lanes>(values + part.first); };
    Coin<V> coin_of{old(slot_coin_w), old(slot_coin_sum), old(slot_coin_size), old(slot_coin_reward), old(slot_coin_most)};
    coin_of.learn(of(by.coin), of(by.floor));
    const V gradient = of(by.adagrad), total = old(slot_adagrad_sum) + gradient * gradient;
    set(slot_adagrad_w, old(slot_adagrad_w) + (gradient * .5f) / root(total + first_sum));
    set(slot_adagrad_sum, total);
    set(slot_coin_w, coin_of.w), set(slot_coin_sum, coin_of.sum), set(slot_coin_size, coin_of.size_of);
    set(slot_coin_reward, coin_of.reward), set(slot_coin_most, coin_of.most_bet);
  }

  std::vector<float> coins_, adagrads_;
  // Of the row that was scored last: the records of all slots, or with many classes their blocks, and where those of each slot end.
  std::vector<float*> at_;
  std::vector<Block*> blocks_;
  std::vector<std::uint32_t> ends_;
  GatheredCells<slot_fields, scored_fields> gathered_;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
