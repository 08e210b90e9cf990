// A sparse example (a view that does not own its memory), and the faults that an example may have.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mistakebound {

template <class Index, class Value>
struct Row {
  const Index* index;
  const Value* value;
  std::size_t size;
  std::size_t beyond = 0;  // number of columns of the row beyond the width of the learner, see Play::score_beyond
  bool ahead = false;      // whether at least `look_ahead` indices of later rows follow, so that weights can be prefetched
};

inline constexpr std::size_t look_ahead = 64;  // non-zeros

// What is wrong with a row. Python turns it into an error message.
enum class Fault {
  none,
  label,       // neither of the two labels
  index,       // negative, or beyond the width
  not_finite,  // NaN or infinite
  not_binary,  // outside {0, 1}, for a rule that needs it
  too_large,   // |x| above largest_learnable
  too_small,   // |x| below smallest_learnable, and not 0
  overflow,    // the score is not finite, although all values are
  malformed,   // indptr decreases, or points beyond the data
  weight,      // the weight of the row is not a number from 0 to largest_weight_of_row
  irregular,   // internal, never reported: index out of range, stored zero, repeated index (visit_irregular of rows.hpp)
};

// Where a batch stopped. All rows before `row` were played. If `fault` is none, all rows were played.
struct Stop {
  std::int64_t row = 0;
  Fault fault = Fault::none;
  std::int64_t position = -1;  // position in the batch of the non-zero at fault
  bool of_sum = false;         // whether its value is a sum, because the feature occurs more than once in the row (repeats.hpp)
};

// A prediction whose outcome arrives later.
struct EarlierPrediction {
  bool positive;
  double score;          // as reported: divided by the normaliser
  std::int64_t updates;  // before the prediction
};

// Limits of the absolute value of a feature in an update. Values up to 1e30 cannot make a float32 sum infinite: near 1e37
// adding 1e30 has no effect. Sums of values from 1e-30 have full precision: float32 loses digits below 1e-38, and values
// below 1e-45 would not change the sum.
inline constexpr double largest_learnable = 1e30, smallest_learnable = 1e-30;

// The weight of a row multiplies what is learned from it.
inline constexpr double largest_weight_of_row = 1e9;
inline bool is_weight(double weight) { return weight >= 0 && weight <= largest_weight_of_row; }

}  // namespace mistakebound
