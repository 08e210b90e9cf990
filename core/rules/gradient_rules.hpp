// Rules that follow gradients of logistic or hinge loss. The specification is in rules/adagrad.py, rules/coin_betting.py and
// rules/gradient_descent.py.
#pragma once
#include <algorithm>
#include <cmath>
#include <string_view>

#include "rules/elementary.hpp"
#include "rules/stepping.hpp"

namespace mistakebound {

// tau = y·sigmoid(-y·score), the derivative of the logistic gain.
struct LogisticRule : SteppingRule {
  static constexpr bool log_odds = true;
  struct Step {
    double tau;
  };
  static Step step(double score, int y) { return {y * sigmoid(-y * score)}; }
  static void weigh(Step& step, double weight) { step.tau *= weight; }
};

struct LogisticSgd : LogisticRule {
  static constexpr std::string_view id = "logistic-sgd";
  explicit LogisticSgd(double parameter) : rate(parameter) {}
  double rate;
  void apply(WeightOnly& slot, double x, const Step& step) const {
    slot.w = limited(static_cast<double>(slot.w) + rate * step.tau * x);
  }
};

// A weight, and the sum of the squared gradients.
struct WeightAndSquares {
  float w, squares;
  float& sum() { return w; }
  float sum() const { return w; }
};

struct FtrlProximal : LogisticRule {
  static constexpr std::string_view id = "ftrl-proximal";
  static constexpr double beta = 0.3;
  struct Slot : WeightAndSquares {
    Slot() : WeightAndSquares{0, 0} {}
  };
  explicit FtrlProximal(double parameter) : alpha(parameter) {}
  double alpha;
  void apply(Slot& slot, double x, const Step& step) const {
    const double gradient = step.tau * x, total = static_cast<double>(slot.squares) + gradient * gradient;
    slot.w = limited(static_cast<double>(slot.w) + alpha * gradient / (beta + std::sqrt(total)));
    slot.squares = at_most(total);
  }
};

// w = U·sinh(z).
struct ExponentiatedGradient : LogisticRule {
  static constexpr std::string_view id = "exponentiated-gradient";
  static constexpr bool identity = false;
  static constexpr double scale_of_weights = 0.5, largest_exponent = 20;
  explicit ExponentiatedGradient(double parameter) : eta(parameter) {}
  double eta;
  double link(double z) const {
    const double w = scale_of_weights * sinh_of(std::fabs(z));
    return z < 0 ? -w : w;
  }
  void apply(WeightAndSum& slot, double x, const Step& step) const {
    slot.z = limited(static_cast<double>(slot.z) + eta * step.tau * x, largest_exponent);
  }
};

// w = T/(G + L)·(1 + R/L) with the sum T of the gradients, the sum G of their sizes, the reward R and the largest size L.
struct CoinBetting : LogisticRule {
  static constexpr std::string_view id = "coin-betting";
  struct Slot {
    float w = 0, total = 0, size = 0, reward = 0, largest_gradient = 0;
    float& sum() { return w; }
    float sum() const { return w; }
  };
  explicit CoinBetting(double /*parameter*/) {}
  static void apply(Slot& slot, double x, const Step& step) {
    const double gradient = step.tau * x, total = static_cast<double>(slot.total) + gradient;
    const double size = static_cast<double>(slot.size) + std::fabs(gradient);
    const double won = static_cast<double>(slot.reward) + static_cast<double>(slot.w) * gradient;
    const double reward = std::min(std::max(won, 0.0), largest_sum);
    const double top = std::max({static_cast<double>(slot.largest_gradient), std::fabs(gradient), 0.5 * std::fabs(x)});
    slot.w = limited(total / (size + top) * (1.0 + reward / top));
    slot.total = static_cast<float>(total);
    slot.size = static_cast<float>(size);
    slot.reward = static_cast<float>(reward);
    slot.largest_gradient = static_cast<float>(top);
  }
};

struct AdaGradRule : SteppingRule {
  struct Slot : WeightAndSquares {
    Slot() : WeightAndSquares{0, 1e-8F} {}
  };
  explicit AdaGradRule(double parameter) : rate(parameter) {}
  double rate;
  static void stepped(Slot& slot, double by, double total) {
    slot.w = limited(static_cast<double>(slot.w) + by / std::sqrt(total));
    slot.squares = at_most(total);
  }
};

struct AdaGradLogistic : AdaGradRule {
  static constexpr std::string_view id = "adagrad-logistic";
  static constexpr bool log_odds = true;
  using AdaGradRule::AdaGradRule;
  using Step = LogisticRule::Step;
  static Step step(double score, int y) { return LogisticRule::step(score, y); }
  static void weigh(Step& step, double weight) { step.tau *= weight; }
  void apply(Slot& slot, double x, const Step& step) const {
    const double gradient = step.tau * x;
    stepped(slot, rate * gradient, static_cast<double>(slot.squares) + gradient * gradient);
  }
};

// The gradient at the weights after the update: y·h, where h solves h = sigmoid(-(y·score + rate·D·h)), D = sum of x²/sqrt(G).
struct ImplicitLogistic : AdaGradRule {
  static constexpr std::string_view id = "implicit-logistic";
  static constexpr bool log_odds = true;
  static constexpr int newton_steps = 4;
  using AdaGradRule::AdaGradRule;
  struct Step {
    int y;
    double margin, first, tau = 0;  // first: the size of the gradient before the update
  };
  static Step step(double score, int y) { return {y, y * score, sigmoid(-y * score)}; }
  static double squares(const Slot& slot, double x, const Step& step) {
    const double gradient = step.first * x;
    return static_cast<double>(slot.squares) + gradient * gradient;
  }
  static double gather(const Slot& slot, double x, const Step& step) { return x * x / std::sqrt(squares(slot, x, step)); }
  void complete(Step& step, double gathered) const {
    const double reach = rate * gathered;
    double h = step.first;
    for (int k = 0; k < newton_steps; ++k) {
      const double e = sigmoid(-(step.margin + reach * h));
      h -= (h - e) / (1 + reach * e * (1 - e));
    }
    step.tau = step.y * h;
  }
  static void weigh(Step& step, double weight) { step.tau *= weight; }
  void apply(Slot& slot, double x, const Step& step) const { stepped(slot, rate * step.tau * x, squares(slot, x, step)); }
};

// Steps on hinge loss, no longer than needed: tau = y·min(rate, (1 - y·score)/D).
struct AdaGradHinge : AdaGradRule {
  static constexpr std::string_view id = "adagrad-hinge";
  using AdaGradRule::AdaGradRule;
  struct Step {
    int y;
    double loss, tau = 0;
  };
  static bool must_update(double score, int y, bool) { return 1 - y * score > 0; }
  static Step step(double score, int y) { return {y, 1 - y * score}; }
  static double squares(const Slot& slot, double x) { return static_cast<double>(slot.squares) + x * x; }
  static double gather(const Slot& slot, double x, const Step&) { return x * x / std::sqrt(squares(slot, x)); }
  void complete(Step& step, double gathered) const {
    step.tau = step.y * (gathered > 0 ? std::min(rate, step.loss / gathered) : rate);
  }
  static void weigh(Step& step, double weight) { step.tau *= weight; }
  static void apply(Slot& slot, double x, const Step& step) { stepped(slot, step.tau * x, squares(slot, x)); }
};

}  // namespace mistakebound
