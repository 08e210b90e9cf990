// The state of a mixture of experts as plain arrays, and the functions on it that are compiled once per SIMD level. Files that
// include this may be compiled for AVX2 or AVX-512. Hence it contains only numbers and pointers: code that other files share
// must run on every processor.
//
// Every level gives the same bits, because all use the same order of operations: the term of expert k is added to lane k mod 4,
// and the lanes are added as (l_0 + l_2) + (l_1 + l_3). Products and sums are fused only where `fused` is used. e^x and ln x
// use only basic operations (elementary.hpp).
#pragma once
#include <cstddef>
#include <cstdint>

namespace mistakebound::experts {

enum class RuleId { hedge, anytime, adahedge, fixed_share, ml_ewa, ml_poly, boa, boa_adaptive, ml_prod, boa_observed, ml_prod_observed, ogd };
inline constexpr std::size_t rule_count = 12;

enum class LossId { square, absolute, percentage, pinball, log };
inline constexpr std::size_t loss_count = 5;

// Limits of regrets, so that their squares fit into float64: a larger one is a fault, and a smaller one counts as 0. A round
// whose losses are all below least_losses is a fault, because true differences of losses could be too small. Python reads these
// numbers from here.
inline constexpr double largest_regret = 1e150, least_regret = 1e-150, least_losses = 1e-135;

// Arrays have one number per expert, and are filled up to a multiple of eight with experts without weight. `width` is n rounded
// up to a multiple of four.
struct Book {
  std::size_t n, width;
  const double *log_prior, *prior, *relative;  // ln π, π, and π/max π
  double *w, *next;          // weights, which need not sum to 1, and memory for the next ones
  double *R, *V, *loss;      // sums of r, r² and of the losses over the rounds in which the expert was awake
  double *r, *theirs;        // regrets and losses of this round; 0 if asleep
  double *X, *rate, *S, *b;  // further numbers of some rules
  double log_n;              // ln max(n, 2)
  std::size_t rounds;
  double eta, alpha, gaps, widest, largest;  // numbers of the whole rule; not all rules use all of them
};

struct Mixed {
  double total, sum;  // Σ w and Σ w·x over the awake experts
  double size;        // max |x| over the awake experts
  double low, high;   // min x and max x over the awake experts
  std::size_t awake;  // number of awake experts
  bool odd;           // whether the x of an expert is not within the limits
};

struct Outcome {
  LossId loss;
  bool gradient;
  double tau, y, forecast, size;
};

// The regrets of a round, in Book::r.
struct Regrets {
  double mine, h;               // the learner's loss, and the same in the units of r (linearised, if gradients are used)
  double top, bottom, largest;  // max r, min r, max |r|
  bool sound;                   // whether all losses are finite
  double scale;                 // size of the losses; 0 if all regrets are 0, or if the loss has a fixed scale (log, percentage)
};

// Rounds of Hedge on losses.
inline constexpr std::size_t hedge_block = 4;
struct HedgeSums {
  double total[hedge_block], sum[hedge_block];
  bool rose[hedge_block];  // whether a weight may have grown by more than e^(1/32)
  bool odd;                // whether a loss is infinite or too large (a NaN makes `sum` NaN)
};
// Rounds with known losses h of the learner that are not yet added to the sums of the experts: 0, 1 or hedge_block of them.
struct Played {
  const double* losses;
  std::size_t rounds;
  double h[hedge_block];
};
// Rounds of Weighted Majority: the votes, row by row, and the results. See majority.hpp.
inline constexpr std::size_t majority_block = 8;
struct MajorityBlock {
  std::size_t n;
  const std::uint8_t *votes, *outcome, *since;
  const double *base, *lean, *after;
  std::uint8_t *wrongs, *next_since;
  double* next_base;
};
struct Level {
  Mixed (*mix)(const Book&, const double* w, const double* x, double least, double most);
  Regrets (*lose)(const Book&, const double* x, const Outcome&);
  Regrets (*given)(const Book&, const double* losses, double h, double size);
  void (*weigh[rule_count])(Book&);
  void (*learn[rule_count])(Book&, const Regrets&);
  // Play `rounds` (1 or hedge_block) rows of losses from w into next, and add the rounds `before` to the sums.
  HedgeSums (*hedge)(const Book&, const double* losses, std::size_t rounds, const Played& before);
  // Only add played rounds to the sums.
  void (*settle)(const Book&, const Played&);
  // Set for each expert the bits of the rounds in which it is wrong. Return false if a vote is neither 0 nor 1.
  bool (*gather)(const MajorityBlock&);
  // Add lean·base of each round to `lanes` (4 × majority_block) and bases to `all` (4), and compute the bases after the block.
  void (*add)(const MajorityBlock&, double* lanes, double* all);
  void (*exp)(const double* x, std::size_t n, double* out);
  void (*log)(const double* x, std::size_t n, double* out);
  void (*log1p)(const double* x, std::size_t n, double* out);
};

extern const Level plain_level;
#ifdef MISTAKEBOUND_LEVELS
extern const Level avx2_level, avx512_level;
#endif

}  // namespace mistakebound::experts
