// What panels of several labels that learn from the same rows share: the views of each row, its tokens, and the numbers of the
// features from which both follow. None of them depends on labels, so they are computed once for all labels.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "memory/table.hpp"
#include "panel/block.hpp"
#include "panel/core.hpp"
#include "panel/first_members.hpp"
#include "panel/floats.hpp"
#include "panel/slot_numbers.hpp"
#include "panel/state.hpp"
#include "panel/tokens.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class SharedViews final : public ViewsCore {
 public:
  SharedViews() { resize(0); }

  void reserve(std::size_t features) override {
    features_.reserve(before_features + features);
    tokens_.reserve(features);
  }
  void resize(std::size_t features) override {
    features_.resize(before_features + features);
    tokens_.resize(features);
    size_ = features;
    feature(constant_index).scale = feature(padding_index).scale = 1;
  }
  std::size_t size() const override { return size_; }
  Seen& feature(std::ptrdiff_t i) override { return (features_.data() + before_features)[i]; }
  double& rounds() override { return rounds_; }
  std::shared_ptr<Table<Moments>> moments() const override { return tokens_.table(); }
  void use_moments(std::shared_ptr<Table<Moments>> moments) override { tokens_.share(std::move(moments)); }

  void look(Rows& rows, SlotsOfRows& slots) override {
    slots.clear();
    for (std::size_t r = 0; r < rows.rows(); ++r) {
      const Row x = rows.row(r);
      make(x, rows, r);
      tokens_.find(x, rows.frequent(r), used_);
      slots.add(used_.used());
      for (std::size_t k = 0; k < x.size; ++k) {
        Seen& one = feature(x.index[k]);
        one.scale = std::max(one.scale, std::fabs(x.value[k]));
        ++one.count;
      }
      tokens_.learn(x);
      rounds_ += 1;
    }
  }
 private:
  // As FirstMembers::score does for a panel with views of its own.
  void make(const Row& x, Rows& rows, std::size_t r) {
    const auto round = static_cast<float>(rounds_ + 1);
    const bool wide = x.size > most_for_pairs && x.size <= most_for_tokens;
    float *const scaled = rows.scaled(r), *const of_rarity = rows.rare(r);
    Floats squares = eight(0), rare_squares = eight(0);
    for (std::size_t g = 0; g < x.groups; ++g) {
      const std::int32_t* const at = x.index_of(g);
      alignas(32) float scales[lanes], counts[lanes];
      for (std::size_t j = 0; j < lanes; ++j) {
        const Seen& one = feature(at[j]);
        scales[j] = one.scale, counts[j] = std::bit_cast<float>(one.count);
      }
      const Floats u = scaled_by(load(x.value_of(g)), load(scales)), after = count_of(load(counts)) + 1.0f;
      squares = fused(u, u, squares);
      store(scaled + g * lanes, u);
      alignas(32) std::int32_t is_feature[lanes];
      for (std::size_t j = 0; j < lanes; ++j) is_feature[j] = g * lanes + j < x.size ? -1 : 0;
      const Floats rare = u * rarity(after, round, load(is_feature));
      rare_squares = fused(rare, rare, rare_squares);
      store(of_rarity + g * lanes, rare);
      if (wide) rows.frequent(r)[g] = frequent_places(after, round);
    }
    rows.norm[r] = 1 / std::sqrt(static_cast<double>(sum(squares)));
    rows.rarity_norm[r] = 1 / std::sqrt(static_cast<double>(sum(rare_squares)));
  }

  Table<Seen> features_;
  std::size_t size_ = 0;
  double rounds_ = 0;
  Tokens tokens_;
  SlotNumbers used_;  // of the row that was looked at last
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
