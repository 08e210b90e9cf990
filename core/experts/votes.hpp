// The loops over experts of Weighted Majority, eight rounds at once (see majority.hpp).
#pragma once
#include "experts/book.hpp"
#include "experts/lanes.hpp"

namespace mistakebound::experts::MISTAKEBOUND_LEVEL {

inline bool gather(const MajorityBlock& rounds) {
  const std::size_t n = rounds.n;
  constexpr std::size_t width = sizeof(Bytes);
  Bytes all{};
  const auto gather_at = [&](std::size_t k) __attribute__((always_inline)) {
    Bytes bits{}, count = load(rounds.since + k);
#pragma GCC unroll 8
    for (std::size_t t = majority_block; t-- > 0;) {
      const Bytes row = load(rounds.votes + t * n + k), wrong = row ^ rounds.outcome[t];  // 0 or 1
      all |= row;
      bits = bits + bits + wrong;
      count += wrong;
    }
    store(rounds.wrongs + k, bits);
    store(rounds.next_since + k, count);
  };
  std::size_t k = 0;
  for (; k + width <= n; k += width) gather_at(k);
  if (k < n && n >= width) {  // the last experts; some of them are computed twice
    gather_at(n - width);
    k = n;
  }
  std::uint8_t seen = 0;
  for (std::size_t j = 0; j < width; ++j) seen = static_cast<std::uint8_t>(seen | all[j]);
  for (; k < n; ++k) {
    unsigned bits = 0, count = rounds.since[k];
    for (std::size_t t = 0; t < majority_block; ++t) {
      const std::uint8_t row = rounds.votes[t * n + k];
      const unsigned wrong = row != rounds.outcome[t];
      seen |= row;
      bits |= wrong << t;
      count += wrong;
    }
    rounds.wrongs[k] = static_cast<std::uint8_t>(bits);
    rounds.next_since[k] = static_cast<std::uint8_t>(count);
  }
  return seen <= 1;
}

inline void add(const MajorityBlock& rounds, double* lanes, double* all) {
  const std::size_t n = rounds.n;
  const double *const base = rounds.base, *const lean = rounds.lean, *const after = rounds.after;
  double* const next = rounds.next_base;
  const std::uint8_t* const wrongs = rounds.wrongs;
  Eight sum[4]{};
  Four total{};
  const auto vote = [&](std::size_t k, std::size_t lane) __attribute__((always_inline)) {
    sum[lane] += base[k] * load<Eight>(lean + majority_block * wrongs[k]);
    next[k] = base[k] * after[wrongs[k]];
  };
  std::size_t k = 0;
  for (; k + 4 <= n; k += 4) {
    vote(k, 0);
    vote(k + 1, 1);
    vote(k + 2, 2);
    vote(k + 3, 3);
    total += load(base + k);
  }
  if (k < n) vote(k, 0);  // not a loop, so that the lane is a constant for the compiler
  if (k + 1 < n) vote(k + 1, 1);
  if (k + 2 < n) vote(k + 2, 2);
  store(all, total);
  for (std::size_t lane = 0; k + lane < n; ++lane) all[lane] += base[k + lane];
  for (std::size_t lane = 0; lane < 4; ++lane) store(lanes + majority_block * lane, sum[lane]);
}

}  // namespace mistakebound::experts::MISTAKEBOUND_LEVEL
