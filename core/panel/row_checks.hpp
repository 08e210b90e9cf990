// Whether the panel can learn a row. The values are checked eight at a time.
#pragma once
#include <cstddef>
#include <cstdint>

#include "panel/floats.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

// Whether all indices are below `features`, and all values can be learned. If so, set `largest` to the largest absolute value.
inline bool regular_row(const std::int32_t* index, const float* value, std::size_t size, std::size_t features, float& largest) {
  return regular_values(value, size, largest) && below(index, size, features);
}

// Write float64 values as float32 to `to`, then return `regular_row` of them.
inline bool narrowed_row(const std::int32_t* index, const double* value, std::size_t size, float* to, std::size_t features, float& largest) {
  // The float64 values are checked, too: a value may be out of range before it is rounded, and in range afterwards.
  int outside = 0;
  for (std::size_t k = 0; k < size; ++k) {
    const double of_value = __builtin_fabs(value[k]);
    outside |= of_value < 1e-30 ? 1 : 0;
    outside |= of_value > 1e30 ? 1 : 0;
    to[k] = static_cast<float>(value[k]);
  }
  return outside == 0 && regular_row(index, to, size, features, largest);
}

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
