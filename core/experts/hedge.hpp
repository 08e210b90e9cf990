// Hedge at a fixed rate on losses that are given. Weights do not depend on what the learner lost, so four rounds are
// played in one pass over the experts: a weight is multiplied by e^(−ηℓ) in each round. The same bits as one by one.
#pragma once
#include "experts/book.hpp"
#include "experts/four.hpp"

namespace mistakebound::experts::MISTAKEBOUND_LEVEL {

template <std::size_t rounds>
struct HedgeLanes {
  Four total[rounds] = {}, loss[rounds] = {};
  Mask rose[rounds] = {}, odd{};
};

// Fours of experts for as long as all |ηℓ| are little; says where it stopped.
template <std::size_t rounds>
std::size_t play_quietly(const Book& book, const double* losses, HedgeLanes<rounds>& lanes) {
  const std::size_t n = book.n;
  const double* const w_of = book.w;
  double* const next = book.next;
  const double minus_eta = -book.eta;
  Four total[rounds] = {}, lost[rounds] = {};
  std::size_t k = 0;
  for (; k + 4 <= n; k += 4) {
    Four w = load(w_of + k), x[rounds];
    Mask quiet = ~Mask{};
#pragma GCC unroll 4
    for (std::size_t t = 0; t < rounds; ++t) {
      if (rounds > 1 && k % 8 == 0) fetch(losses, (t + rounds) * n + k);
      x[t] = load(losses + t * n + k) * minus_eta;
      quiet = quiet & (size(x[t]) <= little);  // NaN is not
    }
    if (any(~quiet)) [[unlikely]]
      break;
#pragma GCC unroll 4
    for (std::size_t t = 0; t < rounds; ++t) {
      total[t] += w;
      lost[t] += w * load(losses + t * n + k);  // once more: registers are few
      w *= exp_little(x[t]);
    }
    store(next + k, w);
  }
  for (std::size_t t = 0; t < rounds; ++t) lanes.total[t] = total[t], lanes.loss[t] = lost[t];
  return k;
}

// The others. Four of which one is not little are all taken by the other formula.
template <std::size_t rounds>
void play_loudly(const Book& book, const double* losses, HedgeLanes<rounds>& lanes, std::size_t from) {
  const std::size_t n = book.n;
  const double* const w_of = book.w;
  double* const next = book.next;
  const double minus_eta = -book.eta;
  HedgeLanes<rounds> sums = lanes;
  const auto play = [&](std::size_t k, auto kind) __attribute__((always_inline)) {
    Four w = load(w_of + k);
#pragma GCC unroll 4
    for (std::size_t t = 0; t < rounds; ++t) {
      const Four loss = from_row(losses + t * n, k, n, 0, kind), x = loss * minus_eta;
      sums.total[t] += w;
      sums.loss[t] += w * loss;
      sums.rose[t] |= x > little;
      sums.odd |= ~(size(loss) <= largest_regret);
      w *= any(~(size(x) <= little)) ? exp(x) : exp_little(x);
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
