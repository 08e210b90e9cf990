// Mixers of the log probabilities of members, with weights that all classes share.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "panel/classes/state.hpp"
#include "panel/doubles.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

// Places for members, the prior and the mixers: a multiple of four. Those behind them have numbers that no result depends on.
inline constexpr std::size_t class_width = 20;
static_assert(class_members + mixers <= class_width);

// For each class, from `first` on and `stride` numbers apart, four log probabilities and four probabilities.
struct FourExperts {
  double *log_chance, *chance;
  std::size_t stride;

  // From numbers in `log_chance`: subtract the maximum, apply the floor, normalise.
  void normalise(std::size_t classes, double floor) const {
    Four top = load(log_chance), total = all(0);
    for (std::size_t k = 1; k < classes; ++k) top = most(top, load(log_chance + k * stride));
    for (std::size_t k = 0; k < classes; ++k) {
      const Four z = most(load(log_chance + k * stride) - top, all(floor)), p = quick_exp(z);
      store(log_chance + k * stride, z);
      store(chance + k * stride, p);
      total += p;
    }
    const Four off = quick_ln(total), share = 1.0 / total;
    for (std::size_t k = 0; k < classes; ++k) {
      store(log_chance + k * stride, load(log_chance + k * stride) - off);
      store(chance + k * stride, load(chance + k * stride) * share);
    }
  }
};

// Log probabilities and probabilities of all experts, class by class.
struct Distributions {
  std::vector<double> log_chance, chance;

  void resize(std::size_t classes) { log_chance.resize(classes * class_width), chance.resize(classes * class_width); }
  const double* logs(std::size_t k) const { return log_chance.data() + k * class_width; }
  const double* chances(std::size_t k) const { return chance.data() + k * class_width; }
  FourExperts four_from(std::size_t expert) { return {log_chance.data() + expert, chance.data() + expert, class_width}; }
};

// Σ a_i b_i over all places.
MISTAKEBOUND_INLINE double dot(const double* a, const double* b) {
  Four sums = all(0);
#pragma GCC unroll 5
  for (std::size_t j = 0; j < class_width; j += 4) sums = fused(load(a + j), load(b + j), sums);
  return sum(sums);
}
// a + factor·b
MISTAKEBOUND_INLINE void add(double* a, double factor, const double* b) {
#pragma GCC unroll 5
  for (std::size_t j = 0; j < class_width; j += 4) store(a + j, fused(all(factor), load(b + j), load(a + j)));
}

// Weights of the members in one mixer.
struct ClassWeights {
  alignas(32) double at[class_width] = {};

  bool valid(std::size_t count) const {
    constexpr double largest = 1e6;
    return std::all_of(at, at + count, [](double weight) { return std::fabs(weight) <= largest; });
  }
};

// What a mixer learns from: l_iy − Σ_k p_k l_ik of each member, Σ_k p_k l_ik, and p itself, which is changed.
struct MixerLesson {
  alignas(32) double gradient[class_width], mean[class_width];
  std::vector<double> p;

  // `mixer`: its place among the experts.
  void look(const Distributions& experts, std::size_t mixer, std::size_t y, std::size_t classes) {
    p.resize(classes);
    Four sums[class_width / 4];
    for (Four& part : sums) part = all(0);
    for (std::size_t k = 0; k < classes; ++k) {
      p[k] = experts.chances(k)[mixer];
#pragma GCC unroll 5
      for (std::size_t j = 0; j < class_width / 4; ++j) sums[j] = fused(all(p[k]), load(experts.logs(k) + 4 * j), sums[j]);
    }
    for (std::size_t j = 0; j < class_width / 4; ++j) {
      store(mean + 4 * j, sums[j]);
      store(gradient + 4 * j, load(experts.logs(y) + 4 * j) - sums[j]);
    }
  }
};

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

  // Rank-one updates of the covariance P by the classes of largest probability: P ← P − b uuᵀ with u = Pw. They are made together:
  // P is read once for all products, of which those with later w and with the gradient are then corrected.
  void learn(const Distributions& experts, std::size_t count, MixerLesson& lesson) {
    constexpr double by_drift = 6e-6, least_used = 1e-4;
    const double total = raise_second(experts, lesson);
    alignas(32) double off[most_used + 1][class_width], u[most_used + 1][class_width];  // the last is the gradient
    double q[most_used];
    std::size_t used = 0;
    for (; used < most_used; ++used) {
      const auto best = static_cast<std::size_t>(std::max_element(lesson.p.begin(), lesson.p.end()) - lesson.p.begin());
      if (lesson.p[best] < least_used) break;
      q[used] = lesson.p[best] / total;
      for (std::size_t j = 0; j < class_width; j += 4) store(off[used] + j, load(experts.logs(best) + j) - load(lesson.mean + j));
      lesson.p[best] = -1;  // used
    }
    for (std::size_t m = used; m <= most_used; ++m) std::copy_n(lesson.gradient, class_width, off[m]);
    products(count, off, u);
    double by[most_used] = {};
    for (std::size_t m = 0; m < used; ++m) {
      for (std::size_t r = 0; r < m; ++r) add(u[m], -by[r] * dot(u[r], off[m]), u[r]);
      by[m] = q[m] / (1 + q[m] * dot(u[m], off[m]));
    }
    double* const step = u[most_used];
    for (std::size_t r = 0; r < used; ++r) add(step, -by[r] * dot(u[r], lesson.gradient), u[r]);
    add(at, 1, step);
    shrink(count, used, by, u);
    for (std::size_t i = 0; i < count; ++i)
      if (covariance[i][i] < first[i]) covariance[i][i] += by_drift;
  }

 private:
  static constexpr std::size_t most_used = 4;

  // Raise the second largest probability to a least value, and change the mean accordingly. Returns the sum of all.
  static double raise_second(const Distributions& experts, MixerLesson& lesson) {
    constexpr double least_second = .01;
    std::vector<double>& p = lesson.p;
    const std::size_t classes = p.size();
    std::size_t best = 0, second = classes;
    for (std::size_t k = 1; k < classes; ++k) {
      if (p[k] > p[best])
        second = best, best = k;
      else if (second == classes || p[k] > p[second])
        second = k;
    }
    if (p[second] >= least_second) return 1;
    const double more = least_second - p[second], total = 1 + more;
    p[second] = least_second;
    add(lesson.mean, more, experts.logs(second));
    for (std::size_t j = 0; j < class_width; j += 4) store(lesson.mean + j, load(lesson.mean + j) / total);
    return total;
  }
  // u = P·off for each. Rows of P behind the members are 0.
  void products(std::size_t count, const double (*off)[class_width], double (*u)[class_width]) const {
    for (std::size_t j = 0; j < class_width; j += 4) {
      Four sums[most_used + 1];
      for (Four& part : sums) part = all(0);
      for (std::size_t i = 0; i < count; ++i) {
        const Four row = load(covariance[i] + j);
#pragma GCC unroll 5
        for (std::size_t m = 0; m <= most_used; ++m) sums[m] = fused(row, all(off[m][i]), sums[m]);
      }
      for (std::size_t m = 0; m <= most_used; ++m) store(u[m] + j, sums[m]);
    }
  }
  void shrink(std::size_t count, std::size_t used, const double* by, const double (*u)[class_width]) {
    for (std::size_t i = 0; i < count; ++i) {
      Four row[class_width / 4];
#pragma GCC unroll 5
      for (std::size_t j = 0; j < class_width / 4; ++j) row[j] = load(covariance[i] + 4 * j);
      for (std::size_t m = 0; m < used; ++m) {
        const Four lost = all(-by[m] * u[m][i]);
#pragma GCC unroll 5
        for (std::size_t j = 0; j < class_width / 4; ++j) row[j] = fused(lost, load(u[m] + 4 * j), row[j]);
      }
#pragma GCC unroll 5
      for (std::size_t j = 0; j < class_width / 4; ++j) store(covariance[i] + 4 * j, row[j]);
    }
  }
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
