// The state of a mixture of experts as plain arrays, and the functions on it that are compiled once per SIMD level. Files
// that include this may be compiled for AVX2 or AVX-512, so it has only numbers and pointers: code that other files share
// must run on every machine.
//
// The written order: expert k is added to lane k mod 4, lanes are reduced as (l_0 + l_2) + (l_1 + l_3); multiply-add is fused
// only where `fused` is used; e^x and ln x by basic operations (elementary.hpp). So every level gives the same bits.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mistakebound::experts {

enum class RuleId { hedge, anytime, adahedge, fixed_share, ml_ewa, ml_poly, boa, boa_adaptive, ml_prod, boa_observed, ml_prod_observed, ogd };
inline constexpr std::size_t rule_count = 12;

enum class LossId { square, absolute, percentage, pinball, log };
inline constexpr std::size_t loss_count = 5;

// Squares of regrets beyond these are no float64: larger ones are refused, smaller ones are 0. Where all losses of a round
// are below least_losses, differences beyond rounding may be among those: the round is refused. Python reads them from here.
inline constexpr double largest_regret = 1e150, least_regret = 1e-150, least_losses = 1e-135;

// Arrays have a number for each expert, and are filled up to a multiple of eight with experts of no weight; `width` is n
// rounded up to a multiple of four.
struct Book {
  std::size_t n, width;
  // ln π and π/max π
  const double *log_prior, *prior, *relative;
  double *w, *next;      // weights, not summing to 1; room for others
  double *R, *V, *loss;  // sums of r, r² and of the losses while awake
  double *r, *theirs;    // of this round; 0 asleep
  double *X, *rate, *S, *b;  // the rule's own, if it has them
  double log_n;          // ln max(n, 2)
  std::size_t rounds;
  // Of all experts; each rule has its own use for some of them.
  double eta, alpha, gaps, widest, largest;
};

struct Mixed {
  double total, sum;  // Σ w and Σ w·x of those awake
  double size;        // max |x| of those awake
  double low, high;   // min x and max x of them
  std::size_t awake;
  bool odd;           // the x of some expert is not between the limits
};

struct Outcome {
  LossId loss;
  bool gradient;
  double tau, y, forecast, size;
};

// The regrets of a round, in Book::r.
struct Regrets {
  double mine, h;              // the learner's loss; and in the units of r
  double top, bottom, largest;  // max r, min r, max |r|
  bool sound;                  // all losses are finite
  double scale;                // size of the losses; 0 if all regrets are 0, or if small ones are nothing (log loss, percentages)
};

// Rounds of Hedge on losses.
inline constexpr std::size_t hedge_block = 4;
struct HedgeSums {
  double total[hedge_block], sum[hedge_block];
  bool rose[hedge_block];  // a weight may have grown by more than e^(1/32)
  bool odd;                // a loss that is infinite or too large (NaN makes `sum` NaN)
};
// Rounds of which the learner knows its losses h, but which are not yet in the sums of the experts: 0, 1 or hedge_block.
struct Played {
  const double* losses;
  std::size_t rounds;
  double h[hedge_block];
};
// Rounds of Weighted Majority: what was said, row by row, and what is made of it. See majority.hpp.
inline constexpr std::size_t majority_block = 8;
struct MajorityBlock {
  std::size_t n;
  const std::uint8_t *said, *outcome, *since;
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
  // Plays `rounds` (1 or hedge_block) rows of losses from w into next, and adds as many rounds before to the sums.
  HedgeSums (*hedge)(const Book&, const double* losses, std::size_t rounds, const Played& before);
  // Adds them to the sums alone.
  void (*settle)(const Book&, const Played&);
  // Writes the bits of the rounds in which each expert is wrong; false if some advice is neither 0 nor 1.
  bool (*gather)(const MajorityBlock&);
  // Adds lean·base of each round to `lanes` (4 × majority_block), bases to `all` (4), and writes the bases after the block.
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
