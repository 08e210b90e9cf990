// Records of owners as long as classes are few: a record has the numbers of all classes, and is made when the owner is first
// learned.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "memory/table.hpp"
#include "panel/classes/shape.hpp"
#include "panel/classes/state.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

template <std::size_t Fields, std::size_t Scored>
class DenseCells {
 public:
  using Layout = Record<Fields, Scored>;

  explicit DenseCells(Shape shape = Shape::of(0)) : shape_(shape), floats_(Layout::floats(shape)) { reserve(1); }

  Shape shape() const { return shape_; }
  void resize(std::size_t owners) { entries_.resize(owners); }
  void reserve_owners(std::size_t owners) { entries_.reserve(owners); }
  std::size_t owners() const { return entries_.size(); }
  std::size_t classes_of(std::size_t owner) const { return entries_.data()[owner] % counts; }

  // Allocate memory for this many more records, so that `make` cannot fail.
  void reserve(std::size_t more) {
    while (firsts_.size() * per_chunk < used_ + more) {
      firsts_.reserve(chunks_.size() + 1);
      chunks_.emplace_back().reserve(per_chunk * floats_ / Layout::line);
      firsts_.push_back(chunks_.back().data()->at);
    }
  }
  // The record of an owner. Without one, it is record 0, whose numbers are all 0.
  MISTAKEBOUND_INLINE float* find(std::size_t owner) const { return record(entries_.data()[owner] / counts); }
  // The same, for learning: make the record of an owner that has none, and give it all classes.
  MISTAKEBOUND_INLINE float* make(std::size_t owner, std::size_t classes) {
    std::uint32_t& entry = entries_.data()[owner];
    if (entry % counts != classes) [[unlikely]] {
      const std::uint32_t number = entry / counts != 0 ? entry / counts : static_cast<std::uint32_t>(used_++);
      entry = number * counts + static_cast<std::uint32_t>(classes);
    }
    return record(entry / counts);
  }

  // Call `visit(class, number)` for each class of an owner, where `number(field)` is one of its numbers.
  template <class Visit>
  void each(std::size_t owner, Visit visit) const {
    const float* const from = find(owner);
    for (std::size_t k = 0; k < classes_of(owner); ++k)
      visit(static_cast<std::int32_t>(k), [&](std::size_t field) { return from[Layout::at(shape_, field, k)]; });
  }
  // Restore the record of an owner from those of its first classes, one after the other.
  void restore(std::size_t owner, std::size_t classes, const float* values) {
    reserve(1);
    float* const to = make(owner, classes);
    for (std::size_t k = 0; k < classes; ++k)
      for (std::size_t f = 0; f < Fields; ++f) to[Layout::at(shape_, f, k)] = values[k * Fields + f];
  }

 private:
  static constexpr std::size_t per_chunk = std::size_t{1} << 13;
  static constexpr std::uint32_t counts = 32;  // an entry is the number of a record, times 32, plus its classes
  static_assert(most_active < counts);
  struct alignas(64) Line {
    float at[Layout::line];
  };
  MISTAKEBOUND_INLINE float* record(std::size_t number) const { return firsts_[number / per_chunk] + number % per_chunk * floats_; }

  Shape shape_;
  std::size_t floats_, used_ = 1;
  std::deque<Table<Line>> chunks_;
  std::vector<float*> firsts_;  // where each chunk lies
  Table<std::uint32_t> entries_;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
