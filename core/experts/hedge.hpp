// Hedge at a fixed rate on losses that are given. Weights do not depend on what the learner lost, so four rounds are
// played in one pass over the experts: a weight is multiplied by e^(−ηℓ) in each round. The same bits as one by one.
#pragma once
#include "experts/book.hpp"
#include "experts/four.hpp"

namespace mistakebound::experts::MISTAKEBOUND_LEVEL {

template <std::size_t rounds>
struct HedgeLanes {
  Four total[rounds], loss[rounds];
  Mask rose[rounds], odd;
};

// Pairs of fours of experts for as long as all ηℓ are little; says where it stopped. `most` does not see a NaN: the sum of
// losses will be one.
template <std::size_t rounds>
std::size_t play_quietly(const Book& book, const double* losses, HedgeLanes<rounds>& lanes) {
  const std::size_t n = book.n;
  const double* const w_of = book.w;
  double* const next = book.next;
  const Little little(-book.eta);
  Four total[2][rounds], lost[2][rounds];  // of all before; and with this pair, unless it is not little
  std::size_t k = 0, now = 0;
  for (std::size_t t = 0; t < rounds; ++t) total[0][t] = lost[0][t] = Four{};
  for (; k + 8 <= n; k += 8, now ^= 1) {
    Four w0 = load(w_of + k), w1 = load(w_of + k + 4), largest_square{};
#pragma GCC unroll 4
    for (std::size_t t = 0; t < rounds; ++t) {
      const double* const row = losses + t * n + k;
      if (rounds > 1) fetch(row, rounds * n);
      const Four x0 = load(row), x1 = load(row + 4);
      largest_square = most(x1 * x1, most(x0 * x0, largest_square));
      total[now ^ 1][t] = (total[now][t] + w0) + w1;
      lost[now ^ 1][t] = fused(w1, x1, fused(w0, x0, lost[now][t]));
      w0 *= little.exp(x0);
      w1 *= little.exp(x1);
    }
    if (!every(largest_square <= little.largest_square)) [[unlikely]]
      break;
    store(next + k, w0);
    store(next + k + 4, w1);
  }
  for (std::size_t t = 0; t < rounds; ++t)
    lanes.total[t] = total[now][t], lanes.loss[t] = lost[now][t], lanes.rose[t] = lanes.odd = Mask{};
  return k;
}

// The others. Four of which one is not little are all taken by the other formula.
template <std::size_t rounds>
void play_loudly(const Book& book, const double* losses, HedgeLanes<rounds>& lanes, std::size_t from) {
  const std::size_t n = book.n;
  const double* const w_of = book.w;
  double* const next = book.next;
  const double minus_eta = -book.eta;
  const Little little(minus_eta);
  HedgeLanes<rounds> sums = lanes;
  const auto play = [&](std::size_t k, auto kind) __attribute__((always_inline)) {
    Four w = load(w_of + k);
#pragma GCC unroll 4
    for (std::size_t t = 0; t < rounds; ++t) {
      const Four loss = from_row(losses + t * n, k, n, 0, kind);
      const Mask known = little.knows(loss);
      sums.total[t] += w;
      sums.loss[t] = fused(w, loss, sums.loss[t]);
      sums.rose[t] |= ~known & (loss < 0.0);
      sums.odd |= ~(size(loss) <= largest_regret);
      w *= every(known) ? little.exp(loss) : exp(loss * minus_eta);
    }
    store(next + k, w);
  };
  std::size_t k = from;
  for (; k + 4 <= n; k += 4) play(k, Whole{});
  if (k < n) play(k, Part{});
  lanes = sums;
}

template <std::size_t rounds>
HedgeSums hedge_rounds(const Book& book, const double* losses) {
  HedgeLanes<rounds> lanes;
  const std::size_t k = play_quietly(book, losses, lanes);
  if (k < book.n) play_loudly(book, losses, lanes, k);
  HedgeSums sums{};
  for (std::size_t t = 0; t < rounds; ++t) {
    sums.total[t] = sum(lanes.total[t]);
    sums.sum[t] = sum(lanes.loss[t]);
    sums.rose[t] = any(lanes.rose[t]);
  }
  sums.odd = any(lanes.odd);
  return sums;
}
inline HedgeSums hedge(const Book& book, const double* losses, std::size_t rounds) {
  return rounds == hedge_block ? hedge_rounds<hedge_block>(book, losses) : hedge_rounds<1>(book, losses);
}

template <std::size_t rounds>
void settle_rounds(const Book& book, const double* losses, const double* h) {
  const std::size_t n = book.n;
  double *const R_of = book.R, *const V_of = book.V, *const lost_of = book.loss;
  double own[rounds];  // in registers, as all of these: what is stored might otherwise be one of them
  for (std::size_t t = 0; t < rounds; ++t) own[t] = h[t];
  fours(n, [=](std::size_t k, auto kind) {
    Four R = load(R_of + k), V = load(V_of + k), lost = load(lost_of + k);
    const Mask is_real = real(k, n, kind);
#pragma GCC unroll 4
    for (std::size_t t = 0; t < rounds; ++t) {
      const Four loss = from_row(losses + t * n, k, n, 0, kind), r = where(is_real, own[t] - loss);
      R += r;
      V += r * r;
      lost += loss;
    }
    store(R_of + k, R);
    store(V_of + k, V);
    store(lost_of + k, lost);
  });
}
inline void settle(const Book& book, const double* losses, std::size_t rounds, const double* h) {
  return rounds == hedge_block ? settle_rounds<hedge_block>(book, losses, h) : settle_rounds<1>(book, losses, h);
}

}  // namespace mistakebound::experts::MISTAKEBOUND_LEVEL
