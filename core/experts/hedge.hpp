// Hedge at a fixed rate on losses that are given. Weights do not depend on what the learner lost, so four rounds are played
// in one pass over the experts; the same pass adds the four rounds before to the sums, because their losses are then known
// to the learner. The same bits as one round at a time.
//
// A weight is multiplied by e^(−ηℓ): as w + wℓ·slope(ℓ) where ηℓ is little, because wℓ is needed anyway. Expert k is added
// to lane k mod 8, so that a register of AVX-512 holds all lanes.
#pragma once
#include "experts/book.hpp"
#include "experts/elementary.hpp"

namespace mistakebound::experts::MISTAKEBOUND_LEVEL {

// Sums of weights and of weighted losses, by lanes.
template <std::size_t rounds>
struct HedgeLanes {
  Eight total[rounds]{}, loss[rounds]{};
};

// Adds played rounds to the sums of the group of experts at k.
template <std::size_t rounds>
struct Settle {
  double *R_of, *V_of, *lost_of;
  const double* losses;
  std::size_t n;
  double h[rounds];

  Settle(const Book& book, const Played& played)
      : R_of(book.R), V_of(book.V), lost_of(book.loss), losses(played.losses), n(book.n) {
    for (std::size_t t = 0; t < rounds; ++t) h[t] = played.h[t];
  }
  template <class Kind>
  MISTAKEBOUND_INLINE void operator()(std::size_t k, Kind kind) const {
    Eight R = load<Eight>(R_of + k), V = load<Eight>(V_of + k), lost = load<Eight>(lost_of + k);
#pragma GCC unroll 4
    for (std::size_t t = 0; t < rounds; ++t) {
      const Eight loss = from_row<Eight>(losses + t * n, k, n, 0, kind);
      const Eight r = Kind::whole ? h[t] - loss : where(real<Eight>(k, n, kind), h[t] - loss);
      R += r;
      V = fuses() ? fused(r, r, V) : V + r * r;
      lost += loss;
    }
    store(R_of + k, R);
    store(V_of + k, V);
    store(lost_of + k, lost);
  }
};

// Asks for losses before they are needed, because the processor waits at the beginning of each row: for the rounds after
// these in the order of memory, into the second cache; or, if they do not fit into it, for experts soon to come in each row.
// A wrong address does no harm.
struct Ahead {
  std::uintptr_t first;
  std::size_t line, step;  // bytes from one line to the next, and from one expert

  Ahead(const double* losses, std::size_t rounds, std::size_t n) {
    const bool fit = rounds * n <= 65536;
    first = reinterpret_cast<std::uintptr_t>(losses + (fit ? rounds * n : 256));
    line = fit ? 64 : n * sizeof(double);
    step = (fit ? rounds : 1) * sizeof(double);
  }
  template <std::size_t rounds>
  MISTAKEBOUND_INLINE void fetch(std::size_t k) const {
    if constexpr (rounds > 1)
#pragma GCC unroll 4
      for (std::size_t t = 0; t < rounds; ++t)
        __builtin_prefetch(reinterpret_cast<const void*>(first + k * step + t * line), 0, 2);
  }
};

// Groups of experts for as long as all ηℓ are little; returns where it stopped. A NaN is not seen here: the sum of losses
// will be one.
template <std::size_t rounds, bool settles>
std::size_t play_little(const Book& book, const double* losses, const Played& before, HedgeLanes<rounds>& lanes) {
  const std::size_t n = book.n;
  const double* const w_of = book.w;
  double* const next = book.next;
  const Little<Eight> little(-book.eta);
  const Settle<rounds> settle(book, before);
  const Ahead ahead(losses, rounds, n);
  Eight total[rounds]{}, lost[rounds]{};
  const auto play = [&](std::size_t k, auto kind) __attribute__((always_inline)) {
    Eight x[rounds];
#pragma GCC unroll 4
    for (std::size_t t = 0; t < rounds; ++t) x[t] = from_row<Eight>(losses + t * n, k, n, 0, kind);
    Eight largest = size(x[0]);
#pragma GCC unroll 4
    for (std::size_t t = 1; t < rounds; ++t) largest = most_size(x[t], largest);
    if (!within(largest, little.largest)) [[unlikely]]
      return false;
    ahead.fetch<rounds>(k);
    Eight w = load<Eight>(w_of + k);
#pragma GCC unroll 4
    for (std::size_t t = 0; t < rounds; ++t) {
      const Eight wx = w * x[t];
      total[t] += w;
      lost[t] += wx;
      w = fused(wx, little.slope(x[t]), w);
    }
    store(next + k, w);
    if constexpr (settles) settle(k, kind);
    return true;
  };
  std::size_t k = 0;
  while (k + 8 <= n && play(k, Whole{})) k += 8;
  if (k < n && k + 8 > n && play(k, Part{})) k = n;
  for (std::size_t t = 0; t < rounds; ++t) lanes.total[t] = total[t], lanes.loss[t] = lost[t];
  return k;
}

// The others.
template <std::size_t rounds>
void play_any(const Book& book, const double* losses, HedgeLanes<rounds>& lanes, std::size_t from, HedgeSums& seen) {
  const std::size_t n = book.n;
  const double* const w_of = book.w;
  double* const next = book.next;
  const double minus_eta = -book.eta;
  const Little<Eight> little(minus_eta);
  HedgeLanes<rounds> sums = lanes;
  decltype(Eight{} < Eight{}) rose[rounds]{}, odd{};
  groups<Eight>(n, [&](std::size_t k, auto kind) __attribute__((always_inline)) {
    Eight w = load<Eight>(w_of + k);
#pragma GCC unroll 4
    for (std::size_t t = 0; t < rounds; ++t) {
      const Eight x = from_row<Eight>(losses + t * n, k, n, 0, kind), wx = w * x;
      const auto known = little.knows(x);
      sums.total[t] += w;
      sums.loss[t] += wx;
      rose[t] |= ~known & (x < 0.0);
      odd |= ~(size(x) <= largest_regret);
      const Eight by_little = fused(wx, little.slope(x), w);
      w = every(known) ? by_little : choose(known, by_little, w * exp(x * minus_eta));
    }
    store(next + k, w);
  }, from);
  lanes = sums;
  seen.odd = any(odd);
  for (std::size_t t = 0; t < rounds; ++t) seen.rose[t] = any(rose[t]);
}

template <std::size_t rounds>
HedgeSums hedge_rounds(const Book& book, const double* losses, const Played& before) {
  HedgeLanes<rounds> lanes;
  std::size_t k = 0;
  if (before.rounds == rounds) {
    k = play_little<rounds, true>(book, losses, before, lanes);
    groups<Eight>(book.n, Settle<rounds>(book, before), k);
  } else {
    k = play_little<rounds, false>(book, losses, before, lanes);
  }
  HedgeSums sums{};
  if (k < book.n) play_any(book, losses, lanes, k, sums);
  for (std::size_t t = 0; t < rounds; ++t) sums.total[t] = sum(lanes.total[t]), sums.sum[t] = sum(lanes.loss[t]);
  return sums;
}
inline HedgeSums hedge(const Book& book, const double* losses, std::size_t rounds, const Played& before) {
  return rounds == hedge_block ? hedge_rounds<hedge_block>(book, losses, before) : hedge_rounds<1>(book, losses, before);
}
inline void settle(const Book& book, const Played& played) {
  if (played.rounds == hedge_block) groups<Eight>(book.n, Settle<hedge_block>(book, played));
  if (played.rounds == 1) groups<Eight>(book.n, Settle<1>(book, played));
}

}  // namespace mistakebound::experts::MISTAKEBOUND_LEVEL
