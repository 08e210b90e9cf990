// The tokens of a row, from which the slots of its interactions follow: a token is made of the name (or index) of a feature, and of
// the interval that x falls into. The intervals follow from the moments of x so far.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "memory/table.hpp"
#include "panel/block.hpp"
#include "panel/floats.hpp"
#include "panel/slot_numbers.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class Tokens {
 public:
  Tokens() : moments_(std::make_shared<Table<Moments>>()) { resize(0); }

  // Several panels may share the moments, and only read them at the same time: then nothing is written.
  void resize(std::size_t features) {
    if (moments_->size() != before_features + features) moments_->resize(before_features + features);
  }
  void reserve(std::size_t features) { moments_->reserve(before_features + features); }
  float* moments(std::ptrdiff_t i) { return (moments_->data() + before_features)[i].at; }
  // Use the moments of other tokens from now on.
  const std::shared_ptr<Table<Moments>>& table() const { return moments_; }
  void share(std::shared_ptr<Table<Moments>> moments) { moments_ = std::move(moments); }

  // Find the slots that a row uses, without changing the moments. `frequent` is only read for rows of more than 48 non-zeros.
  void find(const Row& x, const std::uint8_t* frequent, SlotNumbers& used) {
    used.clear();
    each(x, frequent, [&](std::size_t k, float interval) __attribute__((always_inline)) { used.add(x.token_of(k), static_cast<std::uint64_t>(interval)); });
    if (x.size <= most_for_pairs)
      used.make_all();
    else if (x.size <= most_for_tokens)
      used.make_singles();
  }
  // Which non-zeros have tokens.
  std::vector<std::int32_t> places(const Row& x, const std::uint8_t* frequent) {
    std::vector<std::int32_t> found;
    each(x, frequent, [&found](std::size_t k, float) { found.push_back(static_cast<std::int32_t>(k)); });
    return found;
  }
  // Move the moments of the row for which `find` was called last.
  void learn(const Row& x) {
    for (std::size_t m = 0; m < moved_count_; ++m) {
      float* record[lanes];
      const std::int32_t* const at = x.index_of(moved_[m].group);
#pragma GCC unroll 8
      for (std::size_t j = 0; j < lanes; ++j) record[j] = moments(at[j]);
      Floats after[4];
#pragma GCC unroll 4
      for (std::size_t f = 0; f < 4; ++f) after[f] = load(moved_[m].at[f]);
      scatter_four(after, record);
    }
  }

 private:
  static constexpr float largest_spread = 1e38f;

  // The moments of eight features after this row.
  struct alignas(32) Moved {
    float at[4][lanes];
    std::size_t group;
  };

  template <class Add>
  void each(const Row& x, const std::uint8_t* frequent, Add add) {
    moved_count_ = 0;
    if (x.size <= most_for_pairs)
      make<true>(x, frequent, add);
    else if (x.size <= most_for_tokens)
      make<false>(x, frequent, add);
  }
  // All features of a narrow row have tokens. Of a wide row only frequent features with several values have one: looking at
  // the moments of rare features would cost a line of memory each.
  // `add(k, interval)` is called for each of them.
  template <bool Narrow, class Add>
  void make(const Row& x, const std::uint8_t* frequent, Add add) {
    for (std::size_t g = 0; g * lanes < x.size; ++g) {
      const std::size_t here = std::min(lanes, x.size - g * lanes);
      const unsigned features = (1U << here) - 1, used = Narrow ? features : features & frequent[g];
      if (used == 0) continue;
      const float* record[lanes];
      const std::int32_t* const at = x.index_of(g);
#pragma GCC unroll 8
      for (std::size_t j = 0; j < lanes; ++j) record[j] = moments(at[j]);
      Floats before[4];
      gather_four(record, before);
      const Floats count = count_of(before[0]), middle = before[1], around = before[2];
      const Floats v = load(x.value_of(g)), off = v - middle;
      const Whole first = count == 0.0f, single = first | ((around == 0.0f) & (off == 0.0f));
      const Floats deviation = root(around / choose(first, eight(1), count));
      const Whole differ = deviation > 0.0f;
      const Floats z = choose(differ, off / choose(differ, deviation, eight(1)), choose(off > 0.0f, eight(3), eight(-3)));
      float part[lanes];
      store(part, choose(single, eight(0), floor(clip(z, 2.49f) * 2.0f) + 1000.0f));
      const Whole move = mask_of(used);
      const Floats moved = middle + off / (count + 1.0f);
      Moved& after = moved_[moved_count_++];
      after.group = g;
      store(after.at[0], counted(before[0], move));
      store(after.at[1], choose(move, moved, middle));
      store(after.at[2], choose(move, least(around + off * (v - moved), eight(largest_spread)), around));
      store(after.at[3], before[3]);
      for (std::size_t j = 0; j < here; ++j) {
        if (!Narrow && ((used >> j & 1U) == 0 || part[j] == 0)) continue;
        add(g * lanes + j, part[j]);
      }
    }
  }

  std::shared_ptr<Table<Moments>> moments_;
  // Of the row that was looked at last.
  std::array<Moved, most_for_tokens / lanes + 1> moved_;
  std::size_t moved_count_ = 0;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
