// The four members that look at products of features: coin betting and AdaGrad over single features and pairs, and over
// triples, in one hashed table. The token of a feature is made of its name (or index) and of the interval that x falls into.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "memory/table.hpp"
#include "panel/doubles.hpp"
#include "panel/floats.hpp"
#include "panel/parts.hpp"
#include "panel/state.hpp"
#include "panel/used_slots.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class Interactions {
 public:
  static constexpr double least_gradient = .001;

  Interactions() { slots_.resize(slot_count + 1); }

  // Score a row, which uses these slots.
  void score(const UsedSlots& used, double* scores) const {
    std::array<Sums, 3> sums;
    for (std::size_t order = 0; order < 3; ++order) sums[order] = sum_slots(used, order);
    const std::array<float, 3>& values = used.values;
    scores[coin_pairs] = values[0] * sums[0].coin + values[1] * sums[1].coin;
    scores[adagrad_pairs] = values[0] * sums[0].adagrad + values[1] * sums[1].adagrad;
    scores[coin_triples] = values[2] * sums[2].coin;
    scores[adagrad_triples] = values[2] * sums[2].adagrad;
  }

  // What each interaction of a row adds to the scores. `tokens`: the places of its tokens.
  void explain(const UsedSlots& used, const std::vector<std::int32_t>& tokens, Parts& to) const {
    to.add_slots(tokens, used.counts);
    std::size_t slot = 0;
    for (std::size_t order = 0; order < 3; ++order)
      for (std::size_t k = 0; k < used.counts[order]; ++k, ++slot) {
        const Slot& weights = slots_.data()[used.orders[order][k]];
        to.of_slot(slot, 0) = static_cast<double>(weights.coin_w) * static_cast<double>(used.values[order]);
        to.of_slot(slot, 1) = static_cast<double>(weights.adagrad_w) * static_cast<double>(used.values[order]);
      }
  }

  // Learn a row with its scores.
  void learn(const UsedSlots& used, int label, double weight, const double* scores) {
    const double y = label;
    alignas(32) double surprise[4];  // σ(−y·score)
    store(surprise, sigmoid(load(scores + coin_pairs) * -y));
    if (surprise[0] >= least_gradient || surprise[1] >= least_gradient)
      for (std::size_t order = 0; order < 2; ++order) learn_slots(used, order, y * surprise[0] * weight, y * surprise[1] * weight);
    if (surprise[2] >= least_gradient || surprise[3] >= least_gradient) learn_slots(used, 2, y * surprise[2] * weight, y * surprise[3] * weight);
  }

  void copy(PanelState& to) const {
    for (std::size_t i = 0; i < slot_count; ++i) {
      const Slot& slot = slots_.data()[i];
      if (slot.coin_most == 0) continue;
      const float* const from = &slot.coin_w;
      to.touched.push_back(static_cast<std::uint32_t>(i));
      to.slots.insert(to.slots.end(), from, from + slot_floats);
    }
  }
  void restore(const PanelState& from) {
    if (from.slots.size() != slot_floats * from.touched.size())
      throw std::invalid_argument("the state of the interactions has a wrong size");
    for (std::size_t k = 0; k < from.touched.size(); ++k) {
      if (from.touched[k] >= slot_count) throw std::invalid_argument("an interaction has no slot");
      std::copy_n(from.slots.data() + slot_floats * k, slot_floats, &slots_.data()[from.touched[k]].coin_w);
    }
  }

 private:
  struct Sums {
    double coin, adagrad;
  };
  // Both weights of a slot lie side by side. Slot k goes to lane k mod 8.
  Sums sum_slots(const UsedSlots& used, std::size_t order) const {
    const Slot* const slots = slots_.data();
    const std::uint32_t* const at = used.orders[order];
    const std::size_t count = used.counts[order];
    std::size_t k = 0;
#ifdef __SSE2__
    __m128 pairs[4] = {_mm_setzero_ps(), _mm_setzero_ps(), _mm_setzero_ps(), _mm_setzero_ps()};
    for (; k + 8 <= count; k += 8)
#pragma GCC unroll 4
      for (std::size_t j = 0; j < 4; ++j) {
        const __m128 low = _mm_castpd_ps(_mm_load_sd(reinterpret_cast<const double*>(slots + at[k + 2 * j])));
        pairs[j] = _mm_add_ps(pairs[j], _mm_loadh_pi(low, reinterpret_cast<const __m64*>(slots + at[k + 2 * j + 1])));
      }
    const __m128 both = _mm_add_ps(_mm_add_ps(pairs[0], pairs[2]), _mm_add_ps(pairs[1], pairs[3]));
    float four[4];
    _mm_storeu_ps(four, both);
    float c = four[0] + four[2], a = four[1] + four[3];
#else
    float c8[8] = {}, a8[8] = {};
    for (; k + 8 <= count; k += 8)
      for (std::size_t j = 0; j < 8; ++j) c8[j] += slots[at[k + j]].coin_w, a8[j] += slots[at[k + j]].adagrad_w;
    const auto total = [](const float* l) { return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7])); };
    float c = total(c8), a = total(a8);
#endif
    for (; k < count; ++k) c += slots[at[k]].coin_w, a += slots[at[k]].adagrad_w;
    return {c, a};
  }

  // Equal slots of a row get one update, if they are in the same group of eight: collisions are left alone.
  void learn_slots(const UsedSlots& used, std::size_t order, double coin_gradient, double adagrad_gradient) {
    const float x = used.values[order];
    const float g = static_cast<float>(coin_gradient) * x, size_g = std::fabs(g), floor = std::max(size_g, .5f * x);
    const float ga = static_cast<float>(adagrad_gradient) * x, squared = ga * ga, half = .5f * ga;
    const std::size_t count = used.counts[order];
    const std::uint32_t* const at = used.orders[order];
    for (std::size_t k = 0; k < count; k += lanes) {
      float* record[lanes];
#pragma GCC unroll 8
      for (std::size_t j = 0; j < lanes; ++j) record[j] = &slots_.data()[at[k + j]].coin_w;
      Floats q[lanes];  // in the order of Slot
      gather(record, q);
      const Whole fresh = q[5] == 0.0f;
      const Floats sum_a = choose(fresh, eight(first_sum), q[6]) + squared;
      q[4] = most(least(fused(q[0], g, q[4]), eight(largest_reward)), eight(0));
      q[2] = q[2] + g;
      q[3] = q[3] + size_g;
      q[5] = most(q[5], eight(floor));
      q[0] = clip((q[2] * (q[5] + q[4])) / (q[5] * (q[3] + q[5])), largest_weight);
      q[1] = q[1] + half / root(sum_a);
      q[6] = sum_a;
      scatter(q, record);
    }
  }

  Table<Slot> slots_;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
