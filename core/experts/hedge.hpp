// Hedge at a fixed rate on losses that are given. Weights do not depend on what the learner lost, so four rounds are
// played in one pass over the experts: a weight is multiplied by e^(−ηℓ) in each round. The same bits as one by one.
#pragma once
#include "experts/book.hpp"
#include "experts/four.hpp"

namespace mistakebound::experts::MISTAKEBOUND_LEVEL {

template <std::size_t rounds>
HedgeSums hedge_rounds(const Book& book, const double* losses) {
  Four total[rounds] = {}, sum_loss[rounds] = {};
  Mask rose[rounds] = {}, odd{};
  const double minus_eta = -book.eta;
  fours(book.n, [&](std::size_t k, auto kind) {
    Four w = load(book.w + k), loss[rounds], x[rounds];
    Mask quiet{-1, -1, -1, -1};
#pragma GCC unroll 4
    for (std::size_t t = 0; t < rounds; ++t) {
      loss[t] = from_row(losses + t * book.n, k, book.n, 0, kind);
      x[t] = loss[t] * minus_eta;
      quiet &= size(x[t]) <= little;
    }
    if (!any(~quiet)) [[likely]] {
#pragma GCC unroll 4
      for (std::size_t t = 0; t < rounds; ++t) {
        total[t] += w;
        sum_loss[t] += w * loss[t];
        w *= exp_little(x[t]);
      }
    } else {
      for (std::size_t t = 0; t < rounds; ++t) {
        total[t] += w;
        sum_loss[t] += w * loss[t];
        rose[t] |= x[t] > little;
        odd |= ~(size(loss[t]) <= largest_regret);
        w *= any(~(size(x[t]) <= little)) ? exp(x[t]) : exp_little(x[t]);
      }
    }
    store(book.next + k, w);
  });
  HedgeSums sums{};
  for (std::size_t t = 0; t < rounds; ++t) {
    sums.total[t] = sum(total[t]);
    sums.sum[t] = sum(sum_loss[t]);
    sums.rose[t] = any(rose[t]);
  }
  sums.odd = any(odd);
  return sums;
}
inline HedgeSums hedge(const Book& book, const double* losses, std::size_t rounds) {
  return rounds == hedge_block ? hedge_rounds<hedge_block>(book, losses) : hedge_rounds<1>(book, losses);
}

template <std::size_t rounds>
Spread settle_rounds(const Book& book, const double* losses, const double* h) {
  Four high[rounds], low[rounds];
  for (std::size_t t = 0; t < rounds; ++t) high[t] = all(-infinity), low[t] = all(infinity);
  fours(book.n, [&](std::size_t k, auto kind) {
    Four R = load(book.R + k), V = load(book.V + k), lost = load(book.loss + k);
    const Mask is_real = real(k, book.n, kind);
#pragma GCC unroll 4
    for (std::size_t t = 0; t < rounds; ++t) {
      const Four loss = from_row(losses + t * book.n, k, book.n, 0, kind), r = where(is_real, h[t] - loss);
      R += r;
      V += r * r;
      lost += loss;
      high[t] = most(is_real ? loss : all(-infinity), high[t]);
      low[t] = least(is_real ? loss : all(infinity), low[t]);
    }
    store(book.R + k, R);
    store(book.V + k, V);
    store(book.loss + k, lost);
  });
  Spread spread{};
  for (std::size_t t = 0; t < rounds; ++t) spread.top[t] = top(high[t]), spread.bottom[t] = bottom(low[t]);
  return spread;
}
inline Spread settle(const Book& book, const double* losses, std::size_t rounds, const double* h) {
  return rounds == hedge_block ? settle_rounds<hedge_block>(book, losses, h) : settle_rounds<1>(book, losses, h);
}

}  // namespace mistakebound::experts::MISTAKEBOUND_LEVEL
