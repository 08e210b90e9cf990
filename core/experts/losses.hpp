// Mix forecasts, and compute losses and regrets: the loops over experts that all rules share. The specification is `Mixture` in
// src/mistakebound/aggregation/reference.py.
#pragma once
#include "experts/book.hpp"
#include "experts/elementary.hpp"

namespace mistakebound::experts::MISTAKEBOUND_LEVEL {

inline constexpr double nan = __builtin_nan("");

inline Mixed mix(const Book& book, const double* w, const double* x, double least_x, double most_x) {
  Four total{}, sum_x{}, low = all(infinity), high = all(-infinity), count{};
  Mask odd{};
  fours(book.n, [&](std::size_t k, auto kind) {
    const Four forecast = from_row(x, k, book.n, nan, kind);
    const Mask awake = forecast == forecast;
    const Four weight = where(awake, load(w + k)), value = where(awake, forecast);
    total += weight;
    sum_x += weight * value;
    low = least(forecast, low);  // ignores experts that are asleep, because NaN is not less
    high = most(forecast, high);
    odd |= awake & ~((forecast >= least_x) & (forecast <= most_x));
    count += where(awake, all(1));
  });
  const double least_said = bottom(low), most_said = top(high);
  const double large = larger(__builtin_fabs(least_said), __builtin_fabs(most_said));
  return {sum(total), sum(sum_x), large, least_said, most_said, static_cast<std::size_t>(sum(count)), any(odd)};
}

template <LossId id>
MISTAKEBOUND_INLINE Four value_of(Four f, const Outcome& o) {
  const Four d = f - o.y;
  if constexpr (id == LossId::square) return d * d;
  if constexpr (id == LossId::absolute) return size(d);
  if constexpr (id == LossId::percentage) return size(d) / __builtin_fabs(o.y);
  if constexpr (id == LossId::pinball) return size(d) * choose(d > 0.0, all(1 - o.tau), all(o.tau));
  if constexpr (id == LossId::log) return o.y == 1 ? -ln(f) : -ln1p(-f);
}
template <LossId id>
MISTAKEBOUND_INLINE double slope_of(double f, const Outcome& o) {
  const double d = f - o.y, sign = d > 0 ? 1 : d < 0 ? -1 : 0;
  if constexpr (id == LossId::square) return 2 * d;
  if constexpr (id == LossId::absolute) return sign;
  if constexpr (id == LossId::percentage) return sign / __builtin_fabs(o.y);
  if constexpr (id == LossId::pinball) return sign * (d > 0 ? 1 - o.tau : o.tau);
  if constexpr (id == LossId::log) return o.y == 1 ? -1 / f : 1 / (1 - f);
}

// Collects the largest and smallest regrets of a round while they are stored.
struct Gathering {
  Four top_r = all(-infinity), bottom_r = all(infinity), large{};
  Mask unsound{};

  // A regret within rounding error, or too small to square, is 0.
  template <class Kind>
  MISTAKEBOUND_INLINE void add(const Book& book, std::size_t k, Kind kind, Mask awake, Four loss, Four r, double noise) {
    const Four mine = where(awake & (size(r) > noise), r);
    const Mask is_real = real(k, book.n, kind);
    unsound |= awake & ~(size(loss) < infinity);
    top_r = most(choose(is_real, mine, all(-infinity)), top_r);
    bottom_r = least(choose(is_real, mine, all(infinity)), bottom_r);
    large = most(size(mine), large);
    store(book.r + k, mine);
    store(book.theirs + k, where(awake, loss));
  }
  MISTAKEBOUND_INLINE Regrets done(double mine, double h, double scale) const {
    const bool sound = !any(unsound) && __builtin_fabs(mine) < infinity;
    return {mine, h, top(top_r), bottom(bottom_r), top(large), sound, scale};
  }
};
MISTAKEBOUND_INLINE double noise_of(double magnitude) { return larger(16 * 0x1p-52 * magnitude, least_regret); }

template <LossId id>
Regrets lose_by(const Book& book, const double* x, const Outcome& o) {
  const double mine = numbers(value_of<id>(all(o.forecast), o)).at[0], slope = slope_of<id>(o.forecast, o);
  const bool steep = !(__builtin_fabs(slope) < infinity);
  const double by_size = __builtin_fabs(slope) * o.size;
  const double magnitude = o.gradient ? by_size : steep ? __builtin_fabs(mine) : by_size + __builtin_fabs(mine);
  const double noise = noise_of(magnitude);
  Gathering all_of;
  fours(book.n, [&](std::size_t k, auto kind) {
    const Four forecast = from_row(x, k, book.n, nan, kind);
    const Mask awake = forecast == forecast;
    const Four value = where(awake, forecast), loss = value_of<id>(value, o);
    all_of.add(book, k, kind, awake, loss, o.gradient ? slope * (o.forecast - value) : mine - loss, noise);
  });
  constexpr bool scale_free = id == LossId::log || id == LossId::percentage;
  return all_of.done(mine, o.gradient ? slope * o.forecast : mine,
                     scale_free || magnitude == 0 ? 0 : magnitude + __builtin_fabs(mine));
}
inline Regrets lose(const Book& book, const double* x, const Outcome& o) {
  switch (o.loss) {
    case LossId::square: return lose_by<LossId::square>(book, x, o);
    case LossId::absolute: return lose_by<LossId::absolute>(book, x, o);
    case LossId::percentage: return lose_by<LossId::percentage>(book, x, o);
    case LossId::pinball: return lose_by<LossId::pinball>(book, x, o);
    case LossId::log: break;
  }
  return lose_by<LossId::log>(book, x, o);
}

// Regrets for losses that the caller passed. h is the learner's loss, their weighted mean.
inline Regrets given(const Book& book, const double* losses, double h, double size_of_all) {
  const double magnitude = size_of_all + __builtin_fabs(h), noise = noise_of(magnitude);
  Gathering all_of;
  fours(book.n, [&](std::size_t k, auto kind) {
    const Four loss = from_row(losses, k, book.n, nan, kind);
    all_of.add(book, k, kind, loss == loss, loss, h - loss, noise);
  });
  return all_of.done(h, h, magnitude + __builtin_fabs(h));
}

}  // namespace mistakebound::experts::MISTAKEBOUND_LEVEL
