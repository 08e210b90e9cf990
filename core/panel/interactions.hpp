// The four members that look at products of features: coin betting and AdaGrad over single features and pairs, and over
// triples, in one hashed table. A feature takes part by its token: its name, and into which part of its values x falls.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "memory/table.hpp"
#include "panel/floats.hpp"
#include "panel/members.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class Interactions {
 public:
  static constexpr std::size_t most_for_pairs = 48, most_for_triples = 12, most_for_tokens = 256;
  static constexpr double least_gradient = .001;

  Interactions() {
    slots_.resize(slot_count);
    orders_[0].reserve(most_for_tokens), orders_[1].resize(most_for_pairs * (most_for_pairs - 1) / 2);
  }

  // Score the row that `members` has just scored, and move the moments of its features in the members' scratch.
  void score(const Example& x, Members& members, double* scores) {
    counts_ = {};
    if (x.size <= most_for_tokens) make_tokens(x, members);
    std::array<Sums, 3> sums;
    for (std::size_t order = 0; order < 3; ++order) sums[order] = sum_slots(order);
    scores[coin_pairs] = values_[0] * sums[0].coin + values_[1] * sums[1].coin;
    scores[adagrad_pairs] = values_[0] * sums[0].adagrad + values_[1] * sums[1].adagrad;
    scores[coin_triples] = values_[2] * sums[2].coin;
    scores[adagrad_triples] = values_[2] * sums[2].adagrad;
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

  void learn(int label, const double* surprise) {
    const double y = label;
    if (surprise[coin_pairs] >= least_gradient || surprise[adagrad_pairs] >= least_gradient)
      for (std::size_t order = 0; order < 2; ++order) learn_slots(order, y * surprise[coin_pairs], y * surprise[adagrad_pairs]);
    if (surprise[coin_triples] >= least_gradient || surprise[adagrad_triples] >= least_gradient)
      learn_slots(2, y * surprise[coin_triples], y * surprise[adagrad_triples]);
  }

 private:
  struct Sums {
    double coin, adagrad;
  };

  static std::uint64_t mixed(std::uint64_t h) {
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9ULL;
    return h ^ h >> 32;
  }
  static std::uint32_t slot_of(std::uint32_t h) { return (h * 0x9E3779B1U) >> (32 - slot_bits); }

  void make_tokens(const Example& x, Members& members) {
    const std::size_t m = x.size;
    const bool narrow = m <= most_for_pairs;
    std::array<float, most_for_tokens + lanes> bin;
    const auto round = static_cast<float>(members.rounds());
    for (std::size_t k = 0; k < m; k += lanes) {
      const Floats count = load(members.row(seen) + k), middle = load(members.row(mean) + k), around = load(members.row(spread) + k);
      const Floats v = load(members.row(value) + k), off = v - middle;
      const Whole first = count == 0.0f, single = first | ((around == 0.0f) & (off == 0.0f));
      const Floats deviation = root(around / choose(first, eight(1), count));
      const Whole spread_out = deviation > 0.0f;
      const Floats z = choose(spread_out, off / choose(spread_out, deviation, eight(1)), choose(off > 0.0f, eight(3), eight(-3)));
      const Floats part = floor(clip(z, 2.49f) * 2.0f) + 1000.0f;
      // Wide rows use frequent features only: rare ones would cost a line of memory each.
      const Floats often = (load(members.row(positives) + k) + load(members.row(negatives) + k) + 1.0f) * 4.0f - round;
      const Whole use = narrow ? eight(1) == 1.0f : often >= 0.0f;
      store(bin.data() + k, choose(single, eight(0), choose(use, part, eight(0))));
      const Floats after = count + 1.0f, moved = middle + off / after;
      store(members.row(seen) + k, choose(use, after, count));
      store(members.row(mean) + k, choose(use, moved, middle));
      store(members.row(spread) + k, choose(use, around + off * (v - moved), around));
    }
    members.clear_moments_beyond(m);
    std::array<std::uint32_t, most_for_tokens> first, second, third;
    std::size_t n = 0;
    for (std::size_t k = 0; k < m; ++k) {
      if (!narrow && bin[k] == 0) continue;
      const auto token = x.token[k] * 2654435761ULL + static_cast<std::uint64_t>(bin[k]) * 3928791ULL;
      const std::uint64_t h = mixed(token * 0x9E3779B97F4A7C15ULL + 0x165667B19E3779F9ULL);
      first[n] = static_cast<std::uint32_t>(h), second[n] = static_cast<std::uint32_t>(h >> 32);
      third[n] = static_cast<std::uint32_t>(mixed(h + 0x9E3779B97F4A7C15ULL) >> 13);
      ++n;
    }
    std::vector<std::uint32_t>&singles = orders_[0], &pairs = orders_[1], &triples = orders_[2];
    singles.resize(n);
    for (std::size_t k = 0; k < n; ++k) singles[k] = slot_of(first[k] ^ 0x5bd1e995U);
    counts_[0] = n;
    values_ = {n > 0 ? 1 / std::sqrt(static_cast<float>(n)) : 0, 0, 0};
    if (!narrow || n < 2) return;
    std::uint32_t* pair = pairs.data();
    for (std::size_t k = 0; k + 1 < n; ++k)
      for (std::size_t l = k + 1; l < n; ++l) *pair++ = slot_of(first[k] ^ second[l]);
    counts_[1] = n * (n - 1) / 2;
    values_[0] = std::sqrt(.5f / static_cast<float>(n));
    values_[1] = std::sqrt(.5f / static_cast<float>(counts_[1]));
    if (n > most_for_triples) return;
    triples.clear();
    for (std::size_t k = 0; k + 2 < n; ++k)
      for (std::size_t l = k + 1; l + 1 < n; ++l) {
        const std::uint32_t both = (first[k] ^ second[l]) * 0x85EBCA6BU;
        for (std::size_t r = l + 1; r < n; ++r) triples.push_back(slot_of(both ^ third[r]));
      }
    counts_[2] = triples.size();
    if (counts_[2] > 0) values_[2] = 1 / std::sqrt(static_cast<float>(counts_[2]));
  }

  // Both weights of a slot lie side by side. Slot k goes to lane k mod 4 of a pair.
  Sums sum_slots(std::size_t order) const {
    const Slot* const slots = slots_.data();
    const std::uint32_t* const at = orders_[order].data();
    const std::size_t count = counts_[order];
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

  // Of two equal slots in one group of eight the later one's update stays; collisions are left alone.
  void learn_slots(std::size_t order, double coin_gradient, double adagrad_gradient) {
    const float x = values_[order];
    const float g = static_cast<float>(coin_gradient) * x, size_g = std::fabs(g), floor = std::max(size_g, .5f * x);
    const float ga = static_cast<float>(adagrad_gradient) * x, squared = ga * ga, half = .5f * ga;
    const std::size_t count = counts_[order];
    std::uint32_t* const at = orders_[order].data();
    for (std::size_t k = 0; k < count; k += lanes) {
      float* record[lanes];
#pragma GCC unroll 8
      for (std::size_t j = 0; j < lanes; ++j)
        record[j] = reinterpret_cast<float*>(k + j < count ? slots_.data() + at[k + j] : &pad_);
      Floats q[lanes];  // in the order of Slot
      gather(record, q);
      const Whole fresh = q[5] == 0.0f;
      const Floats sum_a = choose(fresh, eight(first_sum), q[6]) + squared;
      q[4] = most(q[4] + q[0] * g, eight(0));
      q[2] = q[2] + g;
      q[3] = q[3] + size_g;
      q[5] = most(q[5], eight(floor));
      q[0] = clip((q[2] / (q[3] + q[5])) * (1.0f + q[4] / q[5]), 1e30f);
      q[1] = q[1] + half / root(sum_a);
      q[6] = sum_a;
      scatter(q, record);
    }
  }

  Table<Slot> slots_;
  Slot pad_{};
  std::array<std::vector<std::uint32_t>, 3> orders_;
  std::array<std::size_t, 3> counts_{};
  std::array<float, 3> values_{};
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
