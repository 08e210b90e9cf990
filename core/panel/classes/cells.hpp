// Records for pairs of an owner and a class when classes are many, in blocks of eight classes. The blocks of an owner form a chain,
// which grows when a class is first learned, so memory is used for such pairs only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <vector>

#include "memory/table.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel {

template <std::size_t Fields>
class Cells {
 public:
  struct alignas(64) Block {
    float at[Fields][lanes];
    std::int32_t of[lanes];  // class + 1 of each place; 0 if the place is free
  };
  struct Cell {
    Block* block = nullptr;
    std::size_t place = 0;
  };

  // Beyond `most_blocks`, no further pair is kept.
  explicit Cells(std::size_t most_blocks = ~std::size_t{0}) : most_blocks_(most_blocks) { reserve(1); }

  void resize(std::size_t owners) { chains_.resize(owners), sizes_.resize(owners); }
  void reserve_owners(std::size_t owners) { chains_.reserve(owners), sizes_.reserve(owners); }
  std::size_t owners() const { return chains_.size(); }
  std::size_t classes_of(std::size_t owner) const { return sizes_.data()[owner].count; }
  // Allocate memory for this many more blocks, so that `append` cannot fail.
  void reserve(std::size_t more) {
    while (blocks_.size() * per_chunk < used_ + more) {
      next_.resize((chunks_.size() + 1) * per_chunk);
      blocks_.reserve(chunks_.size() + 1);
      chunks_.emplace_back().reserve(per_chunk);
      blocks_.push_back(chunks_.back().data());
    }
  }

  // The chain of an owner ends with block 0, whose numbers are all 0.
  std::uint32_t first(std::size_t owner) const { return chains_.data()[owner]; }
  std::uint32_t next(std::uint32_t block) const { return next_.data()[block]; }
  Block* block(std::uint32_t number) { return blocks_[number / per_chunk] + number % per_chunk; }
  const Block* block(std::uint32_t number) const { return blocks_[number / per_chunk] + number % per_chunk; }

  // Make the record of a class that the owner has none for. Returns a null block if there is no room.
  Cell append(std::size_t owner, std::int32_t label) {
    Size& size = sizes_.data()[owner];
    const std::size_t place = size.count % lanes;
    if (place == 0) {
      if (used_ > most_blocks_) return {};
      const auto made = static_cast<std::uint32_t>(used_++);
      (size.count == 0 ? chains_.data()[owner] : next_.data()[size.last]) = made;
      size.last = made;
    }
    ++size.count;
    Block* const last = block(size.last);
    last->of[place] = label + 1;
    return {last, place};
  }

  // Call `visit(class, number)` for each record of an owner, where `number(field)` is one of its numbers.
  template <class Visit>
  void each(std::size_t owner, Visit visit) const {
    for (std::uint32_t at = first(owner); at != 0; at = next(at)) {
      const Block& of = *block(at);
      for (std::size_t j = 0; j < lanes && of.of[j] != 0; ++j) visit(of.of[j] - 1, [&](std::size_t field) { return of.at[field][j]; });
    }
  }
  // Restore the records of an owner for these classes.
  void restore(std::size_t owner, std::size_t count, const std::int32_t* classes, const float* values) {
    reserve(count / lanes + 1);
    for (std::size_t c = 0; c < count; ++c) {
      const Cell cell = append(owner, classes[c]);
      if (cell.block == nullptr) throw std::invalid_argument("the state has too many interactions");
      for (std::size_t f = 0; f < Fields; ++f) cell.block->at[f][cell.place] = values[c * Fields + f];
    }
  }

 private:
  static constexpr std::size_t per_chunk = std::size_t{1} << 14;  // whole huge pages for blocks of 256 and of 640 bytes
  struct Size {
    std::uint32_t last, count;
  };
  std::size_t most_blocks_, used_ = 1;
  std::deque<Table<Block>> chunks_;
  std::vector<Block*> blocks_;  // where each chunk lies
  std::vector<std::uint32_t> next_;
  Table<std::uint32_t> chains_;
  Table<Size> sizes_;
};

}  // namespace mistakebound::panel
