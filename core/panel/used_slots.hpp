// Which slots of the table of interactions rows use.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "panel/state.hpp"

namespace mistakebound::panel {

// Of one row: the slots of singles, pairs and triples. After those of an order come `lanes` - 1 times the slot that no token has.
struct UsedSlots {
  std::array<const std::uint32_t*, 3> orders;
  std::array<std::size_t, 3> counts;
  std::array<float, 3> values;  // of each slot of an order
};

// Of several rows.
class SlotsOfRows {
 public:
  void clear() { slots_.clear(), rows_.clear(); }
  void add(const UsedSlots& used) {
    rows_.push_back({slots_.size(), used.counts, used.values});
    for (std::size_t order = 0; order < 3; ++order)
      slots_.insert(slots_.end(), used.orders[order], used.orders[order] + used.counts[order] + lanes - 1);
  }
  UsedSlots row(std::size_t r) const {
    const RowOfSlots& of = rows_[r];
    const std::uint32_t* const first = slots_.data() + of.first;
    const std::uint32_t* const second = first + of.counts[0] + lanes - 1;
    return {{first, second, second + of.counts[1] + lanes - 1}, of.counts, of.values};
  }

 private:
  struct RowOfSlots {
    std::size_t first;
    std::array<std::size_t, 3> counts;
    std::array<float, 3> values;
  };
  std::vector<std::uint32_t> slots_;
  std::vector<RowOfSlots> rows_;
};

}  // namespace mistakebound::panel
