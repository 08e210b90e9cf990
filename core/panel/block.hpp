// Rows that the panel plays together, in the form that its members read, with the scores and predictions for each row.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "memory/table.hpp"
#include "panel/roster.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel {

// What the panel predicts for one row.
struct Verdict {
  double probability;  // of the positive label; ½ where the guard overrode the mixture
  double logit;
  bool positive;
  bool overridden;
};

// One row in groups of eight places: its non-zeros, the constant, then padding. The last group is a copy.
struct Row {
  const std::int32_t* index;
  const float* value;
  const std::uint64_t* token;  // a number made from the name of each feature; null if features have no names
  std::size_t size;            // non-zeros
  std::size_t groups;
  float largest;                // |x|
  const std::int32_t* ahead;    // indices that will be needed soon, one for each place; null if they are not known
  const std::int32_t* last_index;
  const float* last_value;

  const std::int32_t* index_of(std::size_t group) const { return group + 1 < groups ? index + group * lanes : last_index; }
  const float* value_of(std::size_t group) const { return group + 1 < groups ? value + group * lanes : last_value; }
  std::uint64_t token_of(std::size_t k) const {
    return token != nullptr ? token[k] : static_cast<std::uint64_t>(static_cast<std::uint32_t>(index[k]));
  }
};

struct alignas(32) EightFloats {
  float at[lanes];
};

// The rows of a block without their labels, and the views of x that all members share.
class Rows {
 public:
  static constexpr std::size_t most_rows = 32;
  static constexpr std::size_t look_ahead = 120;  // places

  std::size_t rows() const { return rows_; }
  void clear() { rows_ = used_ = 0; }

  // Add a row that stays where it is until the block is played. `more`: indices after the row that can be read.
  void add(const std::int32_t* index, const float* value, std::size_t size, std::size_t more, float largest) {
    place_[rows_] = {index, value, 0, size, more, largest, false};
    close(index + size / lanes * lanes, value + size / lanes * lanes);
  }
  // Add a row by copying it. The caller writes its non-zeros to the three arrays, then calls `added`.
  struct Arrays {
    std::int32_t* index;
    float* value;
    std::uint64_t* token;
  };
  Arrays room_for(std::size_t size) {
    const std::size_t needed = used_ + size;
    if (needed > index_.size()) index_.resize(needed), value_.resize(needed), token_.resize(needed);
    return {index_.data() + used_, value_.data() + used_, token_.data() + used_};
  }
  void added(std::size_t size, float largest, bool with_tokens) {
    place_[rows_] = {nullptr, nullptr, used_, size, 0, largest, with_tokens};
    const std::size_t last = used_ + size / lanes * lanes;
    used_ += size;
    close(index_.data() + last, value_.data() + last);
  }

  Row row(std::size_t r) const {
    const Place& at = place_[r];
    const bool own = at.index == nullptr;
    const std::int32_t* const index = own ? index_.data() + at.first : at.index;
    const std::size_t groups = at.size / lanes + 1, more = own ? used_ - at.first : at.size + at.more;
    return {index,
            own ? value_.data() + at.first : at.value,
            at.tokens ? token_.data() + at.first : nullptr,
            at.size,
            groups,
            at.largest,
            more >= look_ahead + groups * lanes ? index + look_ahead : nullptr,
            last_index_[r],
            last_value_[r].at};
  }

  // From the first group of members (or from views that labels share) for the others: x divided by its largest size, the same times how rare the feature is, one
  // over the lengths of both, and a bit for each place whether its feature is frequent (of rows that need it).
  float* scaled(std::size_t r) { return scaled_.data()[groups_[r]].at; }
  float* rare(std::size_t r) { return rare_.data()[groups_[r]].at; }
  std::uint8_t* frequent(std::size_t r) { return frequent_.data() + groups_[r]; }
  double norm[most_rows], rarity_norm[most_rows];
  std::size_t features = 0;  // of the learner when the last row was added

 private:
  struct Place {
    const std::int32_t* index;  // null: in this block, from `first` on
    const float* value;
    std::size_t first, size, more;
    float largest;
    bool tokens;
  };

  void close(const std::int32_t* index, const float* value) {
    const std::size_t left = place_[rows_].size % lanes, groups = groups_[rows_] + place_[rows_].size / lanes + 1;
    std::int32_t* const to = last_index_[rows_];
    float* const values = last_value_[rows_].at;
    for (std::size_t k = 0; k < lanes; ++k) {
      to[k] = k < left ? index[k] : k == left ? constant_index : padding_index;
      values[k] = k < left ? value[k] : k == left ? 1.0f : 0.0f;
    }
    if (groups > scaled_.size()) scaled_.resize(groups), rare_.resize(groups), frequent_.resize(groups);
    groups_[++rows_] = groups;
  }

  std::size_t rows_ = 0, used_ = 0;
  Place place_[most_rows];
  std::size_t groups_[most_rows + 1] = {};  // groups of the rows before
  std::int32_t last_index_[most_rows][lanes];
  EightFloats last_value_[most_rows];
  Table<std::int32_t> index_;
  Table<float> value_;
  Table<std::uint64_t> token_;
  Table<EightFloats> scaled_, rare_;
  Table<std::uint8_t> frequent_;
};

// Rows with their labels, scores and predictions.
class Block {
 public:
  static constexpr std::size_t most_rows = Rows::most_rows;
  using Arrays = Rows::Arrays;

  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Use these rows from now on. Labels, scores and predictions remain its own.
  void share(Rows& rows) { of_ = &rows; }
  std::size_t rows() const { return of_->rows(); }
  bool full() const { return rows() == most_rows; }
  void clear() { of_->clear(); }
  void add(const std::int32_t* index, const float* value, std::size_t size, std::size_t more, float largest, std::int8_t y,
           double of_row = 1) {
    label[rows()] = y, weight[rows()] = of_row;
    of_->add(index, value, size, more, largest);
  }
  Arrays room_for(std::size_t size) { return of_->room_for(size); }
  void added(std::size_t size, float largest, bool with_tokens, std::int8_t y, double of_row = 1) {
    label[rows()] = y, weight[rows()] = of_row;
    of_->added(size, largest, with_tokens);
  }
  Row row(std::size_t r) const { return of_->row(r); }

  std::int8_t label[most_rows];
  double weight[most_rows];  // what the members learn from a row is multiplied by it
  float* scaled(std::size_t r) { return of_->scaled(r); }
  float* rare(std::size_t r) { return of_->rare(r); }
  std::uint8_t* frequent(std::size_t r) { return of_->frequent(r); }
  double& norm(std::size_t r) { return of_->norm[r]; }
  double& rarity_norm(std::size_t r) { return of_->rarity_norm[r]; }
  double* scores(std::size_t r) { return scores_[r].at; }
  Verdict verdict[most_rows];
  std::size_t features() const { return of_->features; }
  void set_features(std::size_t count) { of_->features = count; }

 private:
  // Of the members, and of those that joined from outside.
  struct alignas(32) Scores {
    double at[most_members] = {};
  };

  Scores scores_[most_rows];
  Rows own_;
  Rows* of_ = &own_;
};

}  // namespace mistakebound::panel
