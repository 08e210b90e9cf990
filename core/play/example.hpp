// An example as a sparse view that owns no memory, and the faults that it may have.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mistakebound {

template <class Index, class Value>
struct Row {
  const Index* index;
  const Value* value;
  std::size_t size;
  std::size_t beyond = 0;  // by how much it is wider than the learner knows, see Play::score_beyond
  bool ahead = false;      // `look_ahead` more indices follow this row's own: their weights can be fetched meanwhile
};

inline constexpr std::size_t look_ahead = 64;  // non-zeros

// What may be wrong with a row. Front ends turn it into words.
enum class Fault {
  none,
  label,       // neither of the two labels
  index,       // negative, or beyond the width
  not_finite,  // NaN or infinite
  not_binary,  // outside {0, 1}, for a rule that needs it
  too_large,   // |x| above what a float32 sum can learn from
  too_small,   // |x| below what a float32 sum can learn from, and not 0
  overflow,    // the score itself is not finite
  malformed,   // indptr falls, or runs beyond the data
  irregular,   // internal, never reported: index out of range, stored zero, repeated index (Play::closer_look)
};

// Where a batch stopped: all rows before `row` were played; fault none means all of them.
struct Stop {
  std::int64_t row = 0;
  Fault fault = Fault::none;
  std::int64_t position = -1;  // of the offending non-zero in the batch
  bool of_sum = false;         // its value is the sum of several: its feature comes more than once in the row (repeats.hpp)
};

// The sizes of the values that are learned. Up to 1e30 they cannot drive a float32 sum to infinity: adding 1e30 stops having
// an effect near 1e37. From 1e-30 on a sum of them has all its digits: float32 has fewer below 1e-38, and what is below
// 1e-45 does not move a sum at all, so that it would be seen and never learned.
inline constexpr double largest_learnable = 1e30, smallest_learnable = 1e-30;

}  // namespace mistakebound
