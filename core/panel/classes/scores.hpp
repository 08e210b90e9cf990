// The scores of every member for every class, and the classes that learn from a row with what each of them learns.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "panel/classes/state.hpp"
#include "panel/doubles.hpp"
#include "panel/floats.hpp"
#include "panel/roster.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

// How a score becomes a log probability: those of softmax members are multiplied by τ, margins against the rest and the decision
// list are logits of a class, and the others are log probabilities already.
enum class Link { softmax, logit, log_probability };
inline constexpr Link link_of[class_members] = {
    Link::softmax, Link::logit, Link::logit,   Link::softmax, Link::logit,   Link::softmax, Link::softmax, Link::logit,          Link::softmax,
    Link::log_probability, Link::logit, Link::softmax, Link::softmax, Link::softmax, Link::softmax, Link::log_probability, Link::log_probability};

// τ, with which two classes have the scores of the panel of two classes.
inline double temperature(std::size_t classes) { return 1 - 1 / static_cast<double>(std::max<std::size_t>(classes, 2)); }

class ClassScores {
 public:
  // Room for `classes` and a new one, in whole vectors. All scores are 0 afterwards.
  void clear(std::size_t classes) {
    stride_ = (classes / lanes + 1) * lanes;
    z_.assign(class_members * stride_, 0);
  }
  float* of(std::size_t member) { return z_.data() + member * stride_; }
  const float* of(std::size_t member) const { return z_.data() + member * stride_; }
  std::size_t stride() const { return stride_; }

  // No score may be infinite or NaN, whatever a file said.
  void limit() {
    constexpr float largest = 1e30f;
    for (std::size_t k = 0; k < z_.size(); k += lanes) store(z_.data() + k, clip(load(z_.data() + k), largest));
  }

 private:
  std::size_t stride_ = lanes;
  std::vector<float> z_;
};

// What the active classes learn, a place for each.
struct Active {
  std::size_t count = 0, label = 0;          // classes, and the place of the label
  std::int32_t of[most_active] = {};         // class of each place
  alignas(32) double gradient[members][most_active];  // 1[k = y] − p_k of softmax members
  alignas(32) double score[members][most_active];

  void reserve(std::size_t classes) {
    if (classes <= most_active) return;
    rank_.reserve((classes + 3) / 4 * 4);
    order_.reserve(classes);
  }
  std::size_t blocks() const { return (count + lanes - 1) / lanes; }

  // Choose the classes: all, if they are few, otherwise the label and the rivals of highest static mix.
  void choose(const ClassScores& z, const Roster& roster, std::size_t classes, std::int32_t y) {
    count = std::min(classes, most_active);
    if (classes <= most_active) {
      std::iota(of, of + count, 0);
      label = static_cast<std::size_t>(y);
    } else {
      rank(z, roster, classes);
      order_.resize(classes);
      std::iota(order_.begin(), order_.end(), 0);
      std::swap(order_[0], order_[static_cast<std::size_t>(y)]);
      const auto before = [this](std::int32_t a, std::int32_t b) {
        const double left = rank_[static_cast<std::size_t>(a)], right = rank_[static_cast<std::size_t>(b)];
        return left != right ? left > right : a < b;
      };
      std::partial_sort(order_.begin() + 1, order_.begin() + most_active, order_.end(), before);
      std::copy_n(order_.begin(), count, of);
      label = 0;
    }
    for (std::size_t i = 0; i < members; ++i)
      for (std::size_t a = 0; a < most_active; ++a)
        score[i][a] = a < count ? static_cast<double>(z.of(i)[static_cast<std::size_t>(of[a])]) : 0;
    const double tau = temperature(classes);
    for (std::size_t i = 0; i < members; ++i)
      if (link_of[i] == Link::softmax) softmax(i, tau);
  }

 private:
  void rank(const ClassScores& z, const Roster& roster, std::size_t classes) {
    rank_.assign((classes + 3) / 4 * 4, 0);
    for (std::size_t m = 0; m < roster.count; ++m) {
      const std::size_t i = roster.member[m];
      if (i == history) continue;
      const Four weight = all(roster.first_weight[m]), factor = all(roster.to_logit[m]);
      for (std::size_t k = 0; k < classes; k += 4) {
        const float* const at = z.of(i) + k;
        const Four score_of = four(at[0], at[1], at[2], at[3]) * factor;
        const Four advice = link_of[i] == Link::logit ? log_sigmoid(score_of) : score_of;
        store(rank_.data() + k, load(rank_.data() + k) + weight * advice);
      }
    }
  }
  static Four log_sigmoid(Four z) {
    return MISTAKEBOUND_LEVEL::choose(z > -30.0, -quick_ln(1.0 + exp_minus(z)), z);
  }
  void softmax(std::size_t i, double tau) {
    const double top = *std::max_element(score[i], score[i] + count);
    double total = 0;
    double* const p = gradient[i];
    for (std::size_t a = 0; a < count; a += 4) store(p + a, exp_minus(tau * (top - load(score[i] + a))));
    for (std::size_t a = 0; a < most_active; ++a) {
      if (a >= count) p[a] = 0;
      total += p[a];
    }
    for (std::size_t a = 0; a < most_active; ++a) p[a] = (a == label ? 1.0 : 0.0) - p[a] / total;
    for (std::size_t a = count; a < most_active; ++a) p[a] = 0;
  }

  std::vector<double> rank_;
  std::vector<std::int32_t> order_;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
