// Which slots of the table of interactions a row uses: those of its tokens, of pairs and of triples of them.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "experts/lanes.hpp"
#include "panel/state.hpp"
#include "panel/used_slots.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

// A token has three words: for singles, pairs and triples. Words are added, so the order of the features does not matter.
class SlotNumbers {
 public:
  // Slots of singles, pairs and triples. After those of an order come `lanes` - 1 times the slot that no token has.
  std::array<std::vector<std::uint32_t>, 3> orders;
  std::array<std::size_t, 3> counts{};
  std::array<float, 3> values{};  // of each slot of an order

  SlotNumbers() {
    orders[0].resize(most_for_tokens + lanes);
    orders[1].resize(most_for_pairs * (most_for_pairs - 1) / 2 + lanes);
    orders[2].resize(most_for_triples * (most_for_triples - 1) * (most_for_triples - 2) / 6 + lanes);
  }

  UsedSlots used() const { return {{orders[0].data(), orders[1].data(), orders[2].data()}, counts, values}; }

  void clear() {
    counts = {};
    size_ = 0;
  }
  // Add the token of a feature (its number, or a hash of its name) whose x falls into an interval.
  MISTAKEBOUND_INLINE void add(std::uint64_t feature, std::uint64_t interval) {
    const std::uint64_t token = feature * 2654435761ULL + interval * 3928791ULL;
    const std::uint64_t h = mixed(token * 0x9E3779B97F4A7C15ULL + 0x243F6A8885A308D3ULL);
    first_[size_] = static_cast<std::uint32_t>(h), second_[size_] = static_cast<std::uint32_t>(h >> 32);
    third_[size_] = static_cast<std::uint32_t>(mixed(h + 0x9E3779B97F4A7C15ULL) >> 13);
    ++size_;
  }
  void make_singles() {
    hash(0x5bd1e995U, first_.data(), size_, orders[0].data());
    end_order(0, size_);
    values = {size_ > 0 ? 1 / std::sqrt(static_cast<float>(size_)) : 0, 0, 0};
  }
  // Also pairs and, of few tokens, triples.
  void make_all() {
    make_singles();
    const std::size_t n = size_;
    if (n < 2) return;
    std::uint32_t* pair = orders[1].data();
    for (std::size_t k = 0; k + 1 < n; ++k) {
      hash(second_[k], second_.data() + k + 1, n - k - 1, pair);
      pair += n - k - 1;
    }
    end_order(1, n * (n - 1) / 2);
    values[0] = std::sqrt(.5f / static_cast<float>(n));
    values[1] = std::sqrt(.5f / static_cast<float>(counts[1]));
    if (n < 3 || n > most_for_triples) return;
    std::uint32_t* triple = orders[2].data();
    for (std::size_t k = 0; k + 2 < n; ++k)
      for (std::size_t l = k + 1; l + 1 < n; ++l) {
        hash(third_[k] + third_[l], third_.data() + l + 1, n - l - 1, triple);
        triple += n - l - 1;
      }
    end_order(2, n * (n - 1) * (n - 2) / 6);
    values[2] = 1 / std::sqrt(static_cast<float>(counts[2]));
  }

 private:
  void end_order(std::size_t order, std::size_t count) {
    counts[order] = count;
    std::fill_n(orders[order].data() + count, lanes - 1, static_cast<std::uint32_t>(slot_count));
  }
  static std::uint64_t mixed(std::uint64_t h) {
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9ULL;
    return h ^ h >> 32;
  }
  static std::uint32_t slot_of(std::uint32_t h) { return (h * 0x9E3779B1U) >> (32 - slot_bits); }
  // The slots of one token with each of `count` others, eight at a time: up to seven more are written.
  static void hash(std::uint32_t one, const std::uint32_t* others, std::size_t count, std::uint32_t* out) {
    for (std::size_t k = 0; k < count; k += lanes)
#pragma GCC unroll 8
      for (std::size_t j = 0; j < lanes; ++j) out[k + j] = slot_of(one + others[k + j]);
  }

  std::size_t size_ = 0;
  std::array<std::uint32_t, most_for_tokens + lanes> first_{}, second_{}, third_{};
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
