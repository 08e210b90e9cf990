// The third group of members: AdaGrad on hinge loss, gradient descent and Balanced Winnow. They learn from x
// divided by the largest absolute value of each feature so far, which the first group has computed.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "panel/block.hpp"
#include "panel/doubles.hpp"
#include "panel/feature_table.hpp"
#include "panel/floats.hpp"
#include "panel/parts.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class ThirdMembers {
 public:
  // Score a row without changing what is kept.
  void score(const Row& x, FeatureTable& features, const float* scaled, double norm, double* scores) {
    if (groups_.size() < x.groups) groups_.resize(2 * x.groups);
    float* const table = features.third(0);
    const std::ptrdiff_t stride = features.third_stride();
    Floats z_hinge = eight(0), z_sgd = eight(0), z_winnow = eight(0);
    for (std::size_t g = 0; g < x.groups; ++g) {
      const std::int32_t* const at = x.index_of(g);
#pragma GCC unroll 8
      for (std::size_t j = 0; j < lanes; ++j) groups_[g].record[j] = table + stride * at[j];
      Floats c[4];
      gather_four(groups_[g].record, c);
      c[hinge_sum] = choose(c[hinge_sum] == 0.0f, eight(first_sum), c[hinge_sum]);
      const Floats u = load(scaled + g * lanes);
      z_hinge = fused(c[hinge_w], u, z_hinge);
      z_sgd = fused(c[sgd_w], u, z_sgd);
      z_winnow = fused(c[winnow_w], u, z_winnow);
#pragma GCC unroll 4
      for (std::size_t f = 0; f < 4; ++f) store(groups_[g].at[f], c[f]);
    }
    scores[hinge] = norm * sum(z_hinge);
    scores[sgd] = sum(z_sgd);
    scores[winnow] = sum(z_winnow);
  }

  // What each place of the row that was scored last adds to the scores.
  void explain(const Row& x, const float* scaled, double norm, Parts& to) const {
    for (std::size_t place = 0; place <= x.size; ++place) {
      const auto product = [&](std::size_t field) {
        return static_cast<double>(groups_[place / lanes].at[field][place % lanes]) * static_cast<double>(scaled[place]);
      };
      to.of(place, hinge) = product(hinge_w) * norm;
      to.of(place, sgd) = product(sgd_w);
      to.of(place, winnow) = product(winnow_w);
    }
  }

  // Learn the row that was scored last.
  void learn(const Row& x, int label, double weight, const float* scaled, double norm_of_row, const double* scores) {
    constexpr float winnow_limit = 5.343e12f;  // sinh 30
    const double y = label;
    const bool far = weight > 1;
    const auto norm = static_cast<float>(norm_of_row);
    const auto by_sgd = static_cast<float>(.03 * y * sigmoid(-y * scores[sgd]) * weight);
    const float by_winnow = (scores[winnow] >= 0) != (label > 0) || y * scores[winnow] <= .5 ? static_cast<float>(.1 * y * weight) : 0;
    float by_hinge = 0;
    if (y * scores[hinge] < 1) {
      const double reach = widen(x, scaled, norm);
      by_hinge = static_cast<float>(y * smaller(1, (1 - y * scores[hinge]) / reach) * weight);
    }
    for (std::size_t g = 0; g < x.groups; ++g) {
      const auto old = [&](std::size_t field) __attribute__((always_inline)) { return load(groups_[g].at[field]); };
      const Floats u = load(scaled + g * lanes);
      Floats c[4];
      c[hinge_w] = by_hinge != 0 ? fused(load(groups_[g].step), by_hinge, old(hinge_w)) : old(hinge_w);
      c[hinge_sum] = old(hinge_sum);
      c[sgd_w] = fused(u, by_sgd, old(sgd_w));
      const auto moved = [&](Floats w, Floats d) __attribute__((always_inline)) { return far ? sinh_moved_far(w, d) : sinh_moved(w, d); };
      c[winnow_w] = by_winnow != 0 ? clip(moved(old(winnow_w), u * by_winnow), winnow_limit) : old(winnow_w);
      scatter_four(c, groups_[g].record);
    }
  }

 private:
  struct alignas(32) Group {
    float at[4][lanes], step[lanes];
    float* record[lanes];
  };

  // G += x² and the steps x/√G of hinge loss. Returns D = Σx²/√G.
  double widen(const Row& x, const float* scaled, float norm) {
    Floats reach = eight(0);
    for (std::size_t g = 0; g < x.groups; ++g) {
      const Floats v = load(scaled + g * lanes) * norm, squares = fused(v, v, load(groups_[g].at[hinge_sum])), step = v / root(squares);
      store(groups_[g].at[hinge_sum], squares);
      store(groups_[g].step, step);
      reach = fused(v, step, reach);
    }
    return static_cast<double>(sum(reach));
  }

  std::vector<Group> groups_;  // of the row that was scored last
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
