// Mixers of the log probabilities of members, with weights that all classes share.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "panel/classes/state.hpp"
#include "panel/doubles.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

inline constexpr std::size_t class_width = 20;  // places for members: a multiple of four

// Log probabilities of the classes, and the probabilities themselves, for one expert. Places beyond the classes are 0.
struct Distribution {
  std::vector<double> log_chance, chance;

  void resize(std::size_t places) { log_chance.resize(places), chance.resize(places); }
  // From numbers in `log_chance`: subtract the maximum, apply the floor, normalise.
  void normalise(std::size_t classes, double floor) {
    double top = log_chance[0];
    for (std::size_t k = 1; k < classes; ++k) top = larger(top, log_chance[k]);
    Four totals = all(0);
    for (std::size_t k = 0; k < classes; k += 4) {
      const Four z = most(load(log_chance.data() + k) - top, all(floor));
      store(log_chance.data() + k, z);
      store(chance.data() + k, quick_exp(z));
      for (std::size_t j = classes; j < k + 4; ++j) chance[j] = 0;
      totals += load(chance.data() + k);
    }
    const double total = sum(totals);
    const Four off = quick_ln(all(total)), share = all(1 / total);
    for (std::size_t k = 0; k < classes; k += 4) {
      store(log_chance.data() + k, load(log_chance.data() + k) - off);
      store(chance.data() + k, load(chance.data() + k) * share);
      for (std::size_t j = classes; j < k + 4; ++j) log_chance[j] = 0;
    }
  }
};

// Weights of the members in one mixer.
struct ClassWeights {
  alignas(32) double at[class_width] = {};

  bool valid(std::size_t count) const {
    constexpr double largest = 1e6;
    return std::all_of(at, at + count, [](double weight) { return std::fabs(weight) <= largest; });
  }
  void mix(const Distribution* members_of, std::size_t count, std::size_t classes, Distribution& to) const {
    constexpr double least_log_chance = -20;
    for (std::size_t k = 0; k < classes; k += 4) {
      Four z = all(0);
      for (std::size_t i = 0; i < count; ++i) z = fused(all(at[i]), load(members_of[i].log_chance.data() + k), z);
      store(to.log_chance.data() + k, z);
    }
    to.normalise(classes, least_log_chance);
  }
};

// Σ_k p_k l_ik for each member i.
inline void averages(const Distribution* members_of, std::size_t count, const double* p, std::size_t classes, double* to) {
  for (std::size_t i = 0; i < count; ++i) {
    Four sums = all(0);
    for (std::size_t k = 0; k < classes; k += 4) sums = fused(load(p + k), load(members_of[i].log_chance.data() + k), sums);
    to[i] = sum(sums);
  }
}

// A mixer that learns by an online Newton step whose covariance drifts.
struct ClassNewton : ClassWeights {
  alignas(32) double covariance[class_width][class_width] = {}, first[class_width] = {};

  // Whether a mixer can have this covariance: symmetric, no variance far above its start, and no direction with a negative one.
  // Otherwise steps could grow without end.
  bool valid(std::size_t count) const {
    constexpr double above = 1e-3, rounding = 1e-6;
    double root[class_width][class_width] = {};  // of the covariance, by Cholesky's method
    for (std::size_t i = 0; i < count; ++i) {
      if (!(covariance[i][i] >= 0 && covariance[i][i] <= first[i] + above)) return false;
      for (std::size_t j = 0; j <= i; ++j) {
        if (!(std::fabs(covariance[i][j] - covariance[j][i]) <= rounding)) return false;
        double rest = covariance[i][j] + (i == j ? rounding : 0);
        for (std::size_t k = 0; k < j; ++k) rest -= root[i][k] * root[j][k];
        if (i == j && !(rest > 0)) return false;
        root[i][j] = i == j ? std::sqrt(rest) : rest / root[j][j];
      }
    }
    return ClassWeights::valid(count);
  }

  // `gradient`: l_iy − Σ_k p_k l_ik of each member; `p`: this mixer's probabilities, which are changed.
  void learn(const Distribution* members_of, std::size_t count, std::size_t classes, const double* gradient, std::vector<double>& p) {
    constexpr double by_drift = 6e-6, least_used = 1e-4;
    constexpr std::size_t most_used = 4;
    const double total = raise_second(p, classes);
    alignas(32) double mean[class_width] = {};
    averages(members_of, count, p.data(), classes, mean);
    for (std::size_t i = 0; i < count; ++i) mean[i] /= total;
    for (std::size_t used = 0; used < most_used; ++used) {
      std::size_t best = 0;
      for (std::size_t k = 1; k < classes; ++k)
        if (p[k] > p[best]) best = k;
      if (p[best] < least_used) break;
      shrink(members_of, count, best, p[best] / total, mean);
      p[best] = -1;  // used
    }
    alignas(32) double step[class_width] = {};
    product(gradient, step);
    for (std::size_t k = 0; k < class_width; k += 4) store(at + k, load(at + k) + load(step + k));
    for (std::size_t i = 0; i < count; ++i)
      if (covariance[i][i] < first[i]) covariance[i][i] += by_drift;
  }

 private:
  // Raise the second largest probability to a least value. Returns the sum of all.
  static double raise_second(std::vector<double>& p, std::size_t classes) {
    constexpr double least_second = .01;
    std::size_t best = 0, second = classes;
    for (std::size_t k = 1; k < classes; ++k) {
      if (p[k] > p[best])
        second = best, best = k;
      else if (second == classes || p[k] > p[second])
        second = k;
    }
    if (p[second] >= least_second) return 1;
    const double total = 1 + (least_second - p[second]);
    p[second] = least_second;
    return total;
  }
  // The rank-one update by the class k with probability q.
  void shrink(const Distribution* members_of, std::size_t count, std::size_t k, double q, const double* mean) {
    alignas(32) double off[class_width] = {}, u[class_width] = {};
    for (std::size_t i = 0; i < count; ++i) off[i] = members_of[i].log_chance[k] - mean[i];
    product(off, u);
    Four sums = all(0);
    for (std::size_t j = 0; j < class_width; j += 4) sums = fused(load(u + j), load(off + j), sums);
    const double by = q / (1 + q * sum(sums));
    for (std::size_t i = 0; i < count; ++i) {
      const Four lost = all(-by * u[i]);
      for (std::size_t j = 0; j < class_width; j += 4) store(covariance[i] + j, fused(lost, load(u + j), load(covariance[i] + j)));
    }
  }
  void product(const double* with, double* to) const {
    Four sums[class_width / 4];
    for (Four& part : sums) part = all(0);
    for (std::size_t i = 0; i < class_width; ++i)
#pragma GCC unroll 5
      for (std::size_t j = 0; j < class_width / 4; ++j) sums[j] = fused(load(covariance[i] + 4 * j), all(with[i]), sums[j]);
    for (std::size_t j = 0; j < class_width / 4; ++j) store(to + 4 * j, sums[j]);
  }
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
