// Hedge with a fixed rate on losses that are given: w_k = π_k e^(−ηL_k), and the loss of a round is the mean of the experts'
// by weight. Weights do not depend on what happened to the mean, so four rounds are played at once, four experts at a
// time.
//
// The written order: expert k is in lane k mod 4, lanes are reduced as (l_0 + l_2) + (l_1 + l_3). A weight is multiplied by
// e^(−ηℓ) in each round, and made anew from L, the leader's being 1, every `span` rounds, and before any round whose
// total weight is too large or small: so nothing overflows, whatever the losses.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "experts/exponential.hpp"
#include "sum.hpp"

namespace mistakebound {

class Hedge {
 public:
  static constexpr std::size_t block = 4, span = 512;

  Hedge(double eta, const double* log_prior, std::size_t n) : eta_(eta), n_(n), width_((n + 3) / 4 * 4) {
    loss_.assign(width_, 0);
    log_prior_.assign(width_, -std::numeric_limits<double>::infinity());  // those that fill up the last four weigh nothing
    std::copy(log_prior, log_prior + n, log_prior_.begin());
    w_.assign(width_, 0);
    make_weights();
  }

  std::size_t experts() const { return n_; }
  const std::vector<double>& losses() const { return loss_; }
  const std::vector<double>& weights() const { return w_; }
  void set_rate(double eta) { eta_ = eta, make_weights(), since_ = 0; }

  // Mean loss of each round by weight. Losses are finite.
  void run(const double* loss, std::size_t rounds, double* mean) {
    for (std::size_t t = 0; t < rounds;) {
      const std::size_t many = since_ % block == 0 && rounds - t >= block ? block : 1;
      std::size_t done = many == block ? play<block>(loss + t * n_) : 0;
      for (std::size_t s = 0; s < done; ++s) mean[t + s] = sums_[s].mean();
      t += done;
      for (; done < many; ++done, ++t) {
        if (play<1>(loss + t * n_) == 0) {
          make_weights();
          play<1>(loss + t * n_);
        }
        mean[t] = sums_[0].mean();
      }
      if (since_ >= span) make_weights(), since_ = 0;
    }
  }

 private:
  struct Sums {
    double weight, loss;
    double mean() const { return loss / weight; }
    bool sound() const { return weight > 0x1p-500 && weight < 0x1p500; }
  };

  // Plays rounds until one whose total is not sound, which is not played; says how many.
  template <std::size_t rounds>
  std::size_t play(const double* loss);

  void make_weights() {
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < n_; ++k) most = std::max(most, log_prior_[k] - eta_ * loss_[k]);
    for (std::size_t k = 0; k < n_; ++k) w_[k] = exponential::exp((log_prior_[k] - eta_ * loss_[k]) - most);
  }

  double eta_;
  std::size_t n_, width_, since_ = 0;
  std::vector<double> loss_, log_prior_, w_;
  std::array<Sums, block> sums_{};
};
}  // namespace mistakebound
