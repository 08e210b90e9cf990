// What the theorem of each rule allows the regret to expert k to be, by what has happened.
#pragma once
#include <cmath>
#include <limits>
#include <optional>

#include "experts/book.hpp"

namespace mistakebound::experts {

inline bool has_bound(RuleId rule) {
  return rule != RuleId::ml_ewa && rule != RuleId::boa_observed && rule != RuleId::ml_prod_observed;
}

inline double bound(RuleId rule, const Book& book, std::size_t k) {
  const double log_prior = book.log_prior[k];
  switch (rule) {
    case RuleId::hedge:
    case RuleId::anytime: return -log_prior / book.eta + book.gaps;
    case RuleId::adahedge: return 2 * book.gaps;
    case RuleId::fixed_share: {
      const double stays = book.rounds > 1 ? static_cast<double>(book.rounds - 1) * -std::log1p(-book.alpha) : 0;
      return (-log_prior + stays) / book.eta + book.gaps;
    }
    case RuleId::ml_poly: return std::sqrt(book.potential * (book.largest * book.largest + book.V[k]) / book.relative[k]);
    case RuleId::boa: return -log_prior / book.eta + book.eta * book.V[k];
    case RuleId::boa_adaptive:
    case RuleId::ml_prod: {
      if (book.largest == 0) return 0;
      const double tail = (-log_prior + std::log1p(book.drift / 2.718281828459045)) / book.rate[k];
      return (book.largest - book.first) + book.cost[k] + tail;
    }
    case RuleId::ogd: return 1 / book.eta + book.gaps;
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace mistakebound::experts
