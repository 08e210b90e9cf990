// What each class learns from a row: factors of the updates of the linear members, a place for each active class. They are 0
// for places without a class.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "panel/classes/scores.hpp"
#include "rules/elementary.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class FeatureSteps {
 public:
  // Known before the first pass: σ(−Y·score) of the implicit member, and whether the hinge member learns.
  alignas(32) float surprise[most_active] = {}, within[most_active] = {};
  // From the first pass: D = Σx²/√G of both, and Σ S x² of AROW.
  alignas(32) float reach[most_active] = {}, hinge_reach[most_active] = {}, confidence[most_active] = {};
  alignas(32) float live[most_active] = {}, coin[most_active] = {}, implicit[most_active] = {}, hinge[most_active] = {};
  alignas(32) float arow[most_active] = {}, shrink[most_active] = {}, adagrad[most_active] = {}, ftrl[most_active] = {};
  alignas(32) float sgd[most_active] = {}, winnow[most_active] = {}, eg[most_active] = {};

  FeatureSteps(const Active& active, double weight) : large_(weight > 1) {
    for (std::size_t a = 0; a < most_active; a += 4) store(surprises_ + a, sigmoid(load(active.score[panel::implicit] + a) * -sides(active, a)));
    for (std::size_t a = 0; a < active.count; ++a) {
      const double y = side(active, a);
      live[a] = 1;
      surprise[a] = static_cast<float>(surprises_[a]);
      within[a] = y * active.score[panel::hinge][a] < 1 ? 1 : 0;
      const double of_winnow = active.score[panel::winnow][a];
      if ((of_winnow >= 0) != (y > 0) || y * of_winnow <= .5) winnow[a] = static_cast<float>(.1 * y * weight);
      coin[a] = static_cast<float>(weight * active.gradient[panel::coin][a]);
      adagrad[a] = static_cast<float>(weight * active.gradient[panel::adagrad][a]);
      ftrl[a] = static_cast<float>(weight * active.gradient[panel::ftrl][a]);
      sgd[a] = static_cast<float>(.03 * (weight * active.gradient[panel::sgd][a]));
      eg[a] = static_cast<float>(.5 * (weight * active.gradient[panel::eg][a]));
    }
  }

  // After the first pass.
  void finish(const Active& active, double weight) {
    for (std::size_t a = 0; a < most_active; a += 4) {
      const Four margin = load(active.score[panel::implicit] + a) * sides(active, a);
      const Four twice = 2.0 * four(reach[a], reach[a + 1], reach[a + 2], reach[a + 3]);
      Four h = load(surprises_ + a);  // h = σ(−(margin + 2·reach·h)), by Newton's method
      for (int step = 0; step < 4; ++step) {
        const Four e = sigmoid(-(margin + twice * h));
        h = h - (h - e) / (1.0 + twice * e * (1.0 - e));
      }
      store(surprises_ + a, h);
    }
    for (std::size_t a = 0; a < active.count; ++a) {
      const double y = side(active, a);
      implicit[a] = static_cast<float>(2 * y * surprises_[a] * weight);
      const double short_of_hinge = 1 - y * active.score[panel::hinge][a];
      if (within[a] > 0)
        hinge[a] = static_cast<float>(y * std::min(1.0, short_of_hinge / std::max(static_cast<double>(hinge_reach[a]), 1e-12)) * weight);
      const double short_of = 1 - y * active.score[panel::arow][a];
      if (short_of > 0) {
        const double by = 1 / (static_cast<double>(confidence[a]) + .03);
        shrink[a] = static_cast<float>(by);
        arow[a] = static_cast<float>(std::clamp(y * short_of * by * weight, -largest_step, largest_step));
      }
    }
  }

  // sinh(z + d) for w = sinh z. Only a weight above 1 can make a step longer than ½.
  template <class V>
  MISTAKEBOUND_INLINE V sinh_of(V w, V d) const {
    if (large_) [[unlikely]]
      return sinh_moved_far(w, d);
    return sinh_moved(w, d);
  }

 private:
  static double side(const Active& active, std::size_t a) { return a == active.label ? 1 : -1; }
  static Four sides(const Active& active, std::size_t a) {
    return four(side(active, a), side(active, a + 1), side(active, a + 2), side(active, a + 3));
  }

  static constexpr double largest_step = 1e37;  // of AROW: float32 ends at 3.4e38

  alignas(32) double surprises_[most_active];
  bool large_;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
