// All loops over experts, at the SIMD level that MISTAKEBOUND_LEVEL names. One .cpp file per level includes this.
#include "experts/book.hpp"
#include "experts/elementary.hpp"
#include "experts/hedge.hpp"
#include "experts/losses.hpp"
#include "experts/rules.hpp"
#include "experts/votes.hpp"

namespace mistakebound::experts::MISTAKEBOUND_LEVEL {

template <class Function>
MISTAKEBOUND_INLINE void elementwise(const double* x, std::size_t n, double* out, Function function) {
  fours(n, [&](std::size_t k, auto kind) {
    const auto values = numbers(function(from_row(x, k, n, 1, kind)));
    for (std::size_t j = 0; j < 4 && k + j < n; ++j) out[k + j] = values.at[j];
  });
}
inline void exps(const double* x, std::size_t n, double* out) {
  const Little<Four> little(1);
  elementwise(x, n, out, [&](Four v) { return choose(little.knows(v), fused(v, little.slope(v), all(1)), exp(v)); });
}
inline void lns(const double* x, std::size_t n, double* out) {
  elementwise(x, n, out, [](Four v) { return ln(v); });
}
inline void ln1ps(const double* x, std::size_t n, double* out) {
  elementwise(x, n, out, [](Four v) { return ln1p(v); });
}

// The rules must be in the order of RuleId.
template <class... Rules>
constexpr Level level_with() {
  return {mix, lose, given, {Rules::weigh...}, {Rules::learn...}, hedge, settle, gather, add, exps, lns, ln1ps};
}
inline constexpr Level level = level_with<Hedge, Anytime, AdaHedge, FixedShare, MLEwa, MLPoly, FixedBOA, Adaptive<Bernstein>,
                                        Adaptive<Product>, Observed<Bernstein>, Observed<Product>, OGD>();

}  // namespace mistakebound::experts::MISTAKEBOUND_LEVEL
