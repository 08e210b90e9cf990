// Hedge at a fixed rate on losses that the caller passes. Weights do not depend on the learner's losses. Hence one loop over the
// experts plays four rounds. The same loop adds the previous four rounds to the sums, because the learner's losses in them are
// known by then. The bits are the same as for one round at a time.
//
// A weight is multiplied by e^(−ηℓ). If ηℓ is small, this is computed as w + wℓ·slope(ℓ), because wℓ is needed anyway. The term of
// expert k is added to lane k mod 8, so that all lanes fit into one register of AVX-512.
#pragma once
#include "experts/book.hpp"
#include "experts/elementary.hpp"

namespace mistakebound::experts::MISTAKEBOUND_LEVEL {

// Sums of weights and of weighted losses, by lanes.
template <std::size_t rounds>
struct HedgeLanes {
  Eight total[rounds]{}, loss[rounds]{};
};

// Adds played rounds to the sums of the experts of the group at k.
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

// Prefetches losses, because the processor waits at the beginning of each row: those of the next rounds into the second cache or,
// if they do not fit into it, those of the next experts in each row. Prefetching a wrong address is harmless.
struct Ahead {
  std::uintptr_t first;
  std::size_t line, step;  // bytes from one cache line to the next, and from one expert to the next

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

// Play groups of experts while all ηℓ are small, and return the first expert that was not played. A NaN is not detected here, but
// makes the sum of the losses NaN.
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

// Play the other experts, with any ηℓ.
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
