// The engine of one rule over experts: it mixes forecasts and learns from the regrets, or learns from losses that the caller
// passes. The specification is `Engine` in src/mistakebound/aggregation/reference.py. A round with a fault changes nothing.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "experts/book.hpp"

namespace mistakebound::experts {

enum class Fault { none, all_asleep, infinite_forecast, forecast_domain, infinite_outcome, outcome_domain, own_loss, loss, too_large, too_small };
struct Complaint {
  Fault fault = Fault::none;
  std::size_t expert = 0;
  explicit operator bool() const { return fault != Fault::none; }
};

struct Task {
  LossId loss;
  double tau;
  bool gradient;
};

// An allocator for memory that begins at a cache line, so that a vector of eight numbers lies in one line.
template <class T>
struct CacheLines {
  using value_type = T;
  static constexpr std::align_val_t line{64};
  CacheLines() = default;
  template <class Other>
  explicit CacheLines(const CacheLines<Other>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), line)); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, line); }
  bool operator==(const CacheLines&) const = default;
};
using Numbers = std::vector<double, CacheLines<double>>;

class Mixture {
 public:
  enum Column { w, R, V, loss, X, rate, S, b, own, awake, columns };
  static constexpr std::array<const char*, columns> names{"w", "regrets", "squares", "losses", "X",
                                                          "rate", "S", "b", "own_losses", "rounds"};

  Mixture(RuleId rule, double eta, double alpha, Task task, const std::vector<double>& prior)
      : rule_(rule), task_(task), level_(&plain_level) {
    book_.eta = eta, book_.alpha = alpha;
    join(prior);
  }
  Mixture(const Mixture&) = delete;
  Mixture& operator=(const Mixture&) = delete;

  std::size_t experts() const { return book_.n; }
  const Book& book() const { return book_; }
  RuleId rule() const { return rule_; }
  void use(const Level& level) { level_ = &level; }

  // Add experts at the end. `prior` is the prior of all experts.
  void join(const std::vector<double>& prior) {
    const std::size_t old = book_.n;
    double kept = 0;
    count_each();
    for (std::size_t k = 0; k < old; ++k) kept += prior[k];
    make_room(prior);
    if (remembers_weights()) {
      for (std::size_t k = 0; k < old; ++k) book_.w[k] *= kept;
      std::copy(prior.begin() + static_cast<std::ptrdiff_t>(old), prior.end(), book_.w + old);
    }
    if (book_.largest > 0) make_rates(old);
    stale_ = true;
  }

  struct Served {
    Complaint complaint;
    double forecast = 0, total = 0, size = 0;
    const double* w = nullptr;
  };
  // Mix forecasts. The weight of an awake expert is Served::w / Served::total.
  Served serve(const double* x) {
    weigh();
    return mix(x, least_forecast(), most_forecast());
  }
  // Learn the outcome y of an earlier forecast. `mine` is set to the learner's loss.
  Complaint learn(const double* x, double forecast, double y, double& mine) {
    const Mixed mixed = level_->mix(book_, book_.w, x, least_forecast(), most_forecast());
    if (const Complaint bad = complaint_of(mixed, x)) return bad;
    return learn(x, forecast, mixed.size, mixed.awake, y, mine);
  }
  // Play rounds until the first one with a fault, and return their number.
  std::size_t run(const double* x, const double* y, std::size_t rounds, double* forecast, double* mine, Complaint& bad) {
    for (std::size_t t = 0; t < rounds; ++t) {
      const double* row = x + t * book_.n;
      const Served served = serve(row);
      bad = served.complaint ? served.complaint : learn(row, served.forecast, served.size, awake_, y[t], mine[t]);
      if (bad) return t;
      forecast[t] = served.forecast;
    }
    return rounds;
  }
  // The same for losses that the caller passes.
  std::size_t run_losses(const double* losses, std::size_t rounds, double* mine, Complaint& bad) {
    std::size_t slowly = 0;  // number of rounds to play one by one, because playing four at once has just failed
    for (std::size_t t = 0; t < rounds;) {
      const double* row = losses + t * book_.n;
      if (stale_) settle();
      weigh();
      if (hedging()) {
        if (slowly == 0 && rounds - t >= hedge_block && since_ + hedge_block <= span) {
          if (hedge(row, hedge_block, mine + t)) {
            t += hedge_block;
            continue;
          }
          slowly = hedge_block;
        }
        slowly -= slowly > 0;
        if (hedge(row, 1, mine + t)) {
          ++t;
          continue;
        }
      }
      settle();
      bad = given(row, mine[t]);
      if (bad) return t;
      ++t;
    }
    settle();
    return rounds;
  }

  // The weights if all experts are awake. They sum to 1.
  std::vector<double> weights() {
    const std::vector<double> nothing(book_.n, 0.0);
    const Served served = serve(nothing.data());
    std::vector<double> p(served.w, served.w + book_.n);
    for (double& each : p) each /= served.total;
    return p;
  }
  std::vector<double> column(Column which) const {
    std::vector<double> values(column_[which], column_[which] + book_.n);
    if (which == own) for (double& each : values) each += own_of_all_;
    if (which == awake) for (double& each : values) each += awake_of_all_;
    return values;
  }

  // The state, without the parameters of the rule.
  static constexpr std::size_t scalar_count = 7;
  struct State {
    std::vector<double> prior;
    std::array<std::vector<double>, columns> column;
    std::array<double, scalar_count> scalar;
    std::uint64_t rounds, since;
    bool stale;
  };
  State state() const {
    State now;
    now.prior.assign(book_.prior, book_.prior + book_.n);
    for (std::size_t c = 0; c < columns; ++c) now.column[c].assign(column_[c], column_[c] + book_.n);
    now.column[w].assign(book_.w, book_.w + book_.n);
    now.scalar = {book_.eta, book_.alpha, book_.gaps, book_.widest, book_.largest, own_of_all_, awake_of_all_};
    now.rounds = book_.rounds, now.since = since_, now.stale = stale_;
    return now;
  }
  void restore(const State& state) {  // the caller must check the sizes
    book_.n = 0;
    make_room(state.prior);
    for (std::size_t c = 0; c < columns; ++c) std::copy(state.column[c].begin(), state.column[c].end(), column_[c]);
    const auto& s = state.scalar;
    book_.eta = s[0], book_.alpha = s[1], book_.gaps = s[2], book_.widest = s[3], book_.largest = s[4];
    own_of_all_ = s[5], awake_of_all_ = s[6];
    book_.rounds = static_cast<std::size_t>(state.rounds), since_ = static_cast<std::size_t>(state.since), stale_ = state.stale;
  }

 private:
  static constexpr double least_total = 1e-200;
  static constexpr std::size_t span = 512;  // number of rounds after which Hedge computes its weights from the sums again

  bool remembers_weights() const { return rule_ == RuleId::fixed_share || rule_ == RuleId::ogd; }
  // With a fixed rate, very small losses have no effect and count as 0. For adaptive rules they are a fault.
  bool refuses_small() const { return rule_ != RuleId::hedge && rule_ != RuleId::fixed_share && rule_ != RuleId::boa; }
  bool hedging() const { return rule_ == RuleId::hedge && book_.eta >= 1e-100 && book_.eta < 1e100; }
  double least_forecast() const { return task_.loss == LossId::log ? 0 : -std::numeric_limits<double>::max(); }
  double most_forecast() const { return task_.loss == LossId::log ? 1 : std::numeric_limits<double>::max(); }

  void make_room(const std::vector<double>& prior) {
    const std::size_t n = prior.size(), width = (n + 3) / 4 * 4;
    make_columns(n);
    log_prior_.assign(width, -std::numeric_limits<double>::infinity());
    prior_.assign(width, 0);
    relative_.assign(width, 0);
    const double most = *std::max_element(prior.begin(), prior.end());
    for (std::size_t k = 0; k < n; ++k) log_prior_[k] = std::log(prior[k]), prior_[k] = prior[k], relative_[k] = prior[k] / most;
    book_.n = n, book_.width = width;
    book_.log_prior = log_prior_.data(), book_.prior = prior_.data(), book_.relative = relative_.data();
    book_.log_n = std::log(static_cast<double>(std::max<std::size_t>(n, 2)));
  }
  // Make columns for n experts, and copy their contents. Columns longer than a page begin at different offsets of their pages,
  // because a load waits for an earlier store to the same offset of another page.
  void make_columns(std::size_t n) {
    constexpr std::size_t page = 512, scratch = 3;
    const std::size_t room = (n + 7) / 8 * 8, stride = room < page ? room : (room + page - 1) / page * page + 104;
    Numbers memory(stride * (columns + scratch));
    double* free = memory.data();
    const auto place = [&] { return std::exchange(free, free + stride); };
    book_.next = place();  // it is swapped with w
    if (book_.n > 0) column_[w] = book_.w;
    for (double*& column : column_) column = std::copy_n(column, book_.n, place()) - book_.n;
    book_.r = place(), book_.theirs = place();
    book_.w = column_[w], book_.R = column_[R], book_.V = column_[V], book_.loss = column_[loss], book_.X = column_[X];
    book_.rate = column_[rate], book_.S = column_[S], book_.b = column_[b];
    memory_.swap(memory);
  }
  // Rounds with all experts awake are counted once for all. Add these counts to each expert.
  void count_each() {
    for (std::size_t k = 0; k < book_.n; ++k) column_[own][k] += own_of_all_, column_[awake][k] += awake_of_all_;
    own_of_all_ = awake_of_all_ = 0;
  }
  void count(const double* x, std::size_t awake_now, double mine) {
    ++book_.rounds;
    if (awake_now == book_.n) {
      own_of_all_ += mine;
      awake_of_all_ += 1;
      return;
    }
    count_each();
    for (std::size_t k = 0; k < book_.n; ++k)
      if (x[k] == x[k]) column_[own][k] += mine, column_[awake][k] += 1;
  }

  // A new expert has the rate of an expert without regrets. The others keep their rates.
  void make_rates(std::size_t old) {
    const bool adaptive = rule_ == RuleId::boa_adaptive || rule_ == RuleId::ml_prod;
    if (!adaptive && rule_ != RuleId::boa_observed && rule_ != RuleId::ml_prod_observed) return;
    for (std::size_t k = old; k < book_.width; ++k) {
      const double range = adaptive ? book_.largest : book_.b[k], squares = adaptive ? book_.S[k] : book_.V[k];
      const double fast = 0.5 / (range > 0 ? range : 1);
      book_.rate[k] = squares > 0 ? std::min(fast, std::sqrt(book_.log_n / squares)) : fast;
    }
  }

  void weigh() {
    if (!stale_) return;
    level_->weigh[static_cast<std::size_t>(rule_)](book_);
    stale_ = false;
    since_ = 0;
  }

  // Mix by the weights of the awake experts. The mean is clipped to the range of the forecasts because of rounding.
  Served mix(const double* x, double least_x, double most_x) {
    const double* weights = book_.w;
    Mixed mixed = level_->mix(book_, weights, x, least_x, most_x);
    if (const Complaint bad = complaint_of(mixed, x)) return {bad};
    if (!(mixed.total > least_total)) {
      weights = weights_among(x);
      mixed = level_->mix(book_, weights, x, least_x, most_x);
    }
    awake_ = mixed.awake;
    const double forecast = std::clamp(mixed.sum / mixed.total, mixed.low, mixed.high);
    return {{}, forecast, mixed.total, mixed.size, weights};
  }
  // The weights of the awake experts, computed without the others, whose weights may be so large that these underflow. If the
  // rule keeps no logarithms of weights, they are the prior.
  const double* weights_among(const double* x) {
    if (remembers_weights() || rule_ == RuleId::ml_poly) return book_.prior;
    some_.assign(book_.width, 0);
    some_prior_.assign(book_.width, -std::numeric_limits<double>::infinity());
    for (std::size_t k = 0; k < book_.n; ++k)
      if (x[k] == x[k]) some_prior_[k] = log_prior_[k];
    Book some = book_;
    some.w = some_.data(), some.log_prior = some_prior_.data();
    level_->weigh[static_cast<std::size_t>(rule_)](some);
    return some_.data();
  }
  Complaint complaint_of(const Mixed& mixed, const double* x) const {
    if (mixed.awake == 0) return {Fault::all_asleep};
    if (!mixed.odd) return {};
    for (std::size_t k = 0; k < book_.n; ++k)
      if (std::isinf(x[k])) return {Fault::infinite_forecast, k};
    for (std::size_t k = 0; k < book_.n; ++k)
      if (x[k] < least_forecast() || x[k] > most_forecast()) return {Fault::forecast_domain, k};
    return {};
  }
  Complaint complaint_of(double y) const {
    if (!std::isfinite(y)) return {Fault::infinite_outcome};
    if (task_.loss == LossId::log && y != 0 && y != 1) return {Fault::outcome_domain};
    if (task_.loss == LossId::percentage && std::fabs(y) < std::numeric_limits<double>::min()) return {Fault::outcome_domain};
    return {};
  }
  Complaint complaint_of(const Regrets& round) const {
    std::size_t k = 0;  // the first expert with an infinite loss
    while (k < book_.n && !round.sound && std::isfinite(book_.theirs[k])) ++k;
    if (!std::isfinite(round.mine)) return {Fault::own_loss, k};
    if (!round.sound && k < book_.n) return {Fault::loss, k};
    const auto of_most = [this](const double* each) {
      const auto less = [](double a, double b) { return std::fabs(a) < std::fabs(b); };
      return static_cast<std::size_t>(std::max_element(each, each + book_.n, less) - each);
    };
    // Written with `not` and <=, because h may be NaN.
    if (!(round.largest <= largest_regret && std::fabs(round.h) <= largest_regret)) return {Fault::too_large, of_most(book_.r)};
    if (round.scale > 0 && round.scale < least_losses && refuses_small()) return {Fault::too_small, of_most(book_.theirs)};
    return {};
  }

  Complaint learn(const double* x, double forecast, double size, std::size_t awake_now, double y, double& mine) {
    if (const Complaint bad = complaint_of(y)) return bad;
    const Regrets round = level_->lose(book_, x, {task_.loss, task_.gradient, task_.tau, y, forecast, size});
    return take_in(round, x, awake_now, mine);
  }
  Complaint given(const double* losses, double& mine) {
    const Served served = mix(losses, -largest_regret, largest_regret);
    if (served.complaint) return served.complaint;
    if (!(served.size <= largest_regret)) return {Fault::too_large};
    return take_in(level_->given(book_, losses, served.forecast, served.size), losses, awake_, mine);
  }
  Complaint take_in(const Regrets& round, const double* x, std::size_t awake_now, double& mine) {
    if (const Complaint bad = complaint_of(round)) return bad;
    if (rule_ == RuleId::adahedge) weigh();  // it learns with the current weights, not with those of the forecast
    level_->learn[static_cast<std::size_t>(rule_)](book_, round);
    count(x, awake_now, round.mine);
    mine = round.mine;
    stale_ = !remembers_weights();
    return {};
  }

  // Hedge on 1 or 4 rounds of losses, all experts awake. Return false, without a visible change, if they must be played one by
  // one, or by the general code.
  bool hedge(const double* losses, std::size_t rounds, double* mine) {
    if (since_ == 0)  // too small to matter before the weights are computed again, but above denormal numbers, which are slow
      for (std::size_t k = 0; k < book_.n; ++k)
        if (book_.w[k] < 0x1p-600) book_.w[k] = 0;
    if (played_.rounds != rounds) settle();
    const HedgeSums sums = level_->hedge(book_, losses, rounds, played_);
    played_.rounds = 0;  // `hedge` has added them to the sums, also if the new rounds fail
    const auto fits = [&](std::size_t t) { return sums.total[t] > 0x1p-500 && sums.total[t] < 0x1p500; };
    if (rounds == 1 && !fits(0) && since_ > 0) {
      stale_ = true;
      weigh();
      return hedge(losses, rounds, mine);
    }
    if (sums.odd) return false;
    Played now{losses, rounds, {}};
    for (std::size_t t = 0; t < rounds; ++t) {
      now.h[t] = sums.sum[t] / sums.total[t];
      if (!fits(t) || !(std::fabs(now.h[t]) <= largest_regret) || (sums.rose[t] && t + 1 < rounds)) return false;
    }
    played_ = now;
    for (std::size_t t = 0; t < rounds; ++t) {
      mine[t] = now.h[t];
      own_of_all_ += now.h[t];
    }
    awake_of_all_ += static_cast<double>(rounds);
    book_.rounds += rounds;
    std::swap(book_.w, book_.next);
    since_ += rounds;
    stale_ = since_ >= span || sums.rose[rounds - 1];
    return true;
  }

  // Add the last rounds of Hedge to the sums. Usually the loop of the next rounds does this.
  void settle() {
    if (played_.rounds > 0) level_->settle(book_, played_);
    played_.rounds = 0;
  }

  RuleId rule_;
  Task task_;
  const Level* level_;
  Book book_{};
  Played played_{};  // empty between calls
  std::array<double*, columns> column_{};
  Numbers memory_;  // of all columns
  Numbers log_prior_, prior_, relative_, some_, some_prior_;
  double own_of_all_ = 0, awake_of_all_ = 0;
  std::size_t since_ = 0, awake_ = 0;
  bool stale_ = true;
};

}  // namespace mistakebound::experts
