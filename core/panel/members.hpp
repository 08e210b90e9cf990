// The eleven members that look at single features: views of x, scores, and learning. Eight features are worked on at a time.
// Twin of src/mistakebound/rules.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "memory/table.hpp"
#include "panel/combiner.hpp"
#include "panel/floats.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class Members {
 public:
  Members() {
    constant_line_.at[scale] = pad_line_.at[scale] = 1;
    constant_line_.at[implicit_sum] = constant_line_.at[adagrad_sum] = constant_side_.at[hinge_sum - line_floats] = first_sum;
    pad_line_.at[implicit_sum] = pad_line_.at[adagrad_sum] = pad_side_.at[hinge_sum - line_floats] = 1;
    constant_line_.at[arow_variance] = pad_line_.at[arow_variance] = 1;
  }

  void resize(std::size_t features) {
    lines_.resize(features);
    sides_.resize(features);
  }
  void reserve(std::size_t features) {
    lines_.reserve(features);
    sides_.reserve(features);
  }
  std::size_t features() const { return lines_.size(); }
  std::vector<float> state() const {
    std::vector<float> all;
    all.reserve((features() + 1) * stored);
    const auto add = [&all](const Line& line, const Side& side) {
      all.insert(all.end(), line.at, line.at + line_floats);
      all.insert(all.end(), side.at, side.at + side_floats);
    };
    for (std::size_t i = 0; i < features(); ++i) add(lines_.data()[i], sides_.data()[i]);
    add(constant_line_, constant_side_);
    return all;
  }
  void restore(const std::vector<float>& all) {
    if (all.size() % stored != 0 || all.empty()) throw std::invalid_argument("the state of the features has a wrong size");
    resize(all.size() / stored - 1);
    const float* from = all.data();
    const auto take = [&from](Line& line, Side& side) {
      std::copy(from, from + line_floats, line.at);
      std::copy(from + line_floats, from + stored, side.at);
      from += stored;
    };
    for (std::size_t i = 0; i < features(); ++i) take(lines_.data()[i], sides_.data()[i]);
    take(constant_line_, constant_side_);
  }
  template <class Visit>
  void each_number(Visit visit) {
    visit(positives_), visit(negatives_), visit(rounds_);
  }
  double rounds() const { return rounds_; }

  // The numbers of a field for the features of the row that was scored last.
  MISTAKEBOUND_INLINE float* row(std::size_t field) { return row_ + field * room_; }

  // The constant and the places after it are not features: they have no moments.
  void clear_moments_beyond(std::size_t features) {
    for (const std::size_t field : {seen, mean, spread}) std::fill(row(field) + features, row(field) + groups_ * lanes, 0.0f);
  }

  // Score a row without changing what is kept: changes are made in the scratch of the row, which `learn` writes back.
  void score(const Example& x, double* scores) {
    groups_ = x.size / lanes + 1;  // with the constant
    make_room();
    std::copy_n(x.value, x.size, row(value));
    std::fill(row(value) + x.size, row(value) + groups_ * lanes, 0.0f);
    row(value)[x.size] = 1;
    point_to(x);
    for (std::size_t k = 0; k < lanes; ++k) tail_[k] = (groups_ - 1) * lanes + k < x.size ? 1 : 0;
    if (x.ahead)
      first_pass<true>(x);
    else
      first_pass<false>(x);
    second_pass();
    // Norms factor out of the sums of their views; the constant has added the 1.
    scale_norm_ = 1 / std::sqrt(static_cast<double>(sum(squares_)));
    rarity_norm_ = 1 / std::sqrt(static_cast<double>(sum(rare_squares_)));
    scores[coin] = scale_norm_ * sum(sums_[coin]);
    scores[implicit] = scale_norm_ * sum(sums_[implicit]);
    scores[arow] = sum(sums_[arow]);
    scores[adagrad] = rarity_norm_ * sum(sums_[adagrad]);
    scores[hinge] = scale_norm_ * sum(sums_[hinge]);
    scores[ftrl] = sum(sums_[ftrl]);
    scores[sgd] = sum(sums_[sgd]);
    scores[winnow] = sum(sums_[winnow]);
    scores[eg] = scale_norm_ * .5 * sum(sums_[eg]);
    scores[bayes] = prior_ + sum(sums_[bayes]) / larger(1, static_cast<double>(x.size) / 24);
    const double fourth = sum(fourths_);
    scores[list] = prior_ + (fourth > 0 ? sum(sums_[list]) / fourth : 0);
    confidence_ = sum(variances_);
  }

  // Learn the row that was scored last; its features may have got other slots since. `surprise[i]` is σ(−Y·score_i).
  void learn(const Example& x, int label, const double* scores, const double* surprise) {
    point_to(x);
    const double y = label;
    const auto norm = static_cast<float>(scale_norm_);
    const bool inside = y * scores[hinge] < 1;
    const float grad = static_cast<float>(surprise[implicit]) * norm;
    Floats reach = eight(0), hinge_reach = eight(0);
    for (std::size_t k = 0; k < groups_ * lanes; k += lanes) {
      const Floats u = load(row(of_scale) + k), x = u * norm, g = u * grad;
      const Floats sum = load(row(implicit_sum) + k) + g * g, step = x / root(sum);
      store(row(implicit_sum) + k, sum);
      store(row(implicit_step) + k, step);
      reach += x * step;
      if (inside) {
        const Floats squares = load(row(hinge_sum) + k) + x * x, hinge_by = x / root(squares);
        store(row(hinge_sum) + k, squares);
        store(row(hinge_step) + k, hinge_by);
        hinge_reach += x * hinge_by;
      }
    }
    const double hinge_by = inside ? y * smaller(1, (1 - y * scores[hinge]) / sum(hinge_reach)) : 0;
    Steps by;
    by.implicit = static_cast<float>(2 * y * implicit_root(y * scores[implicit], sum(reach), surprise[implicit]));
    by.hinge = static_cast<float>(hinge_by);
    by.coin = static_cast<float>(y * surprise[coin]) * norm;
    by.coin_floor = .5f * norm;
    by.adagrad = static_cast<float>(y * surprise[adagrad]) * static_cast<float>(rarity_norm_);
    by.ftrl = static_cast<float>(y * surprise[ftrl]);
    by.sgd = static_cast<float>(.03 * y * surprise[sgd]);
    by.eg = static_cast<float>(.5 * y * surprise[eg]) * norm;
    by.winnow = (scores[winnow] >= 0) != (label > 0) || y * scores[winnow] <= .5 ? static_cast<float>(.1 * y) : 0;
    const double short_of = 1 - y * scores[arow];
    by.shrink = short_of > 0 ? static_cast<float>(1 / (confidence_ + .03)) : 0;
    by.arow = short_of > 0 ? static_cast<float>(y * short_of) * by.shrink : 0;
    by.positive = label > 0 ? 1 : 0;
    write_back(by);
    (label > 0 ? positives_ : negatives_) += 1;
    rounds_ += 1;
  }

 private:
  struct Steps {
    float implicit, hinge, coin, coin_floor, adagrad, ftrl, sgd, eg, winnow, shrink, arow, positive;
  };

  void make_room() {
    if (groups_ * lanes <= room_) return;
    room_ = 2 * groups_ * lanes;
    memory_.assign(room_ * fields + lanes, 0.0f);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    row_ = memory_.data() + ((address + 31) / 32 * 32 - address) / sizeof(float);
    line_.resize(room_);
    side_.resize(room_);
  }

  void point_to(const Example& x) {
    for (std::size_t k = 0; k < x.size; ++k) line_[k] = lines_.data()[x.slot[k]].at, side_[k] = sides_.data()[x.slot[k]].at;
    line_[x.size] = constant_line_.at, side_[x.size] = constant_side_.at;
    for (std::size_t k = x.size + 1; k < groups_ * lanes; ++k) line_[k] = pad_line_.at, side_[k] = pad_side_.at;
  }

  MISTAKEBOUND_INLINE Floats is_feature(std::size_t k) const { return k + lanes == groups_ * lanes ? load(tail_) : eight(1); }

  template <bool Ahead>
  void first_pass(const Example& x) {
    Floats squares = eight(0), rare_squares = eight(0), z_coin = eight(0), z_implicit = eight(0), z_ftrl = eight(0), z_eg = eight(0),
           z_hinge = eight(0), z_sgd = eight(0), z_winnow = eight(0);
    const auto round = static_cast<float>(rounds_ + 1);
    for (std::size_t k = 0; k < groups_ * lanes; k += lanes) {
      if constexpr (Ahead) {
#pragma GCC unroll 8
        for (std::size_t j = 0; j < lanes; ++j) {
          __builtin_prefetch(lines_.data() + x.slot[k + j + look_ahead], 1, 2);
          __builtin_prefetch(sides_.data() + x.slot[k + j + look_ahead], 1, 2);
        }
      }
      Floats a[lanes], b[lanes], c[lanes];
      const float* second[lanes];
#pragma GCC unroll 8
      for (std::size_t j = 0; j < lanes; ++j) second[j] = line_[k + j] + lanes;
      gather(line_.data() + k, a);
      gather(second, b);
      gather(side_.data() + k, c);
      const Floats v = load(row(value) + k);
      const Whole fresh = a[scale] == 0.0f;
      a[scale] = most(a[scale], size(v));
      const Floats u = v / a[scale];
      b[implicit_sum - lanes] = choose(fresh, eight(first_sum), b[implicit_sum - lanes]);
      b[adagrad_sum - lanes] = choose(fresh, eight(first_sum), b[adagrad_sum - lanes]);
      b[arow_variance - lanes] = choose(fresh, eight(1), b[arow_variance - lanes]);
      c[hinge_sum - line_floats] = choose(fresh, eight(first_sum), c[hinge_sum - line_floats]);
      const Floats rarity = ln(1.0f + round / (a[positives] + a[negatives] + 1.0f));
      const Floats ui = u * choose(is_feature(k) > 0.0f, rarity, eight(1));
      squares += u * u;
      rare_squares += ui * ui;
      const Floats safe = choose(a[coin_most] == 0.0f, eight(1), a[coin_most]);
      const Floats w = clip((a[coin_sum] / (a[coin_size] + safe)) * (1.0f + a[coin_reward] / safe), 1e30f);
      z_coin += w * u;
      z_implicit += a[implicit_w] * u;
      z_ftrl += b[ftrl_w - lanes] * u;
      z_eg += b[eg_w - lanes] * u;
      z_hinge += c[hinge_w - line_floats] * u;
      z_sgd += c[sgd_w - line_floats] * u;
      z_winnow += c[winnow_w - line_floats] * u;
      store(row(coin_w) + k, w);
      store(row(of_scale) + k, u);
      store(row(of_rarity) + k, ui);
#pragma GCC unroll 8
      for (std::size_t f = 0; f < lanes; ++f) {
        store(row(f) + k, a[f]);
        store(row(lanes + f) + k, b[f]);
        store(row(line_floats + f) + k, c[f]);
      }
    }
    squares_ = squares, rare_squares_ = rare_squares;
    sums_[coin] = z_coin, sums_[implicit] = z_implicit, sums_[ftrl] = z_ftrl, sums_[eg] = z_eg;
    sums_[hinge] = z_hinge, sums_[sgd] = z_sgd, sums_[winnow] = z_winnow;
  }

  void second_pass() {
    double length = 0;  // in float64: values may be as large as 1e30
    for (std::size_t k = 0; k < groups_ * lanes; ++k) length += static_cast<double>(row(value)[k]) * static_cast<double>(row(value)[k]);
    const auto norm = static_cast<float>(1 / std::sqrt(length));
    const double share = positives_ / (positives_ + negatives_);
    const Four logs = ln(load(Numbers<Four>{{share, 1 - share, 1, 1}}.at));
    prior_ = numbers(logs).at[0] - numbers(logs).at[1];
    const auto p = static_cast<float>(share), q = static_cast<float>(1 - share), base = static_cast<float>(prior_);
    Floats z_arow = eight(0), variances = eight(0), z_adagrad = eight(0), z_bayes = eight(0), fourths = eight(0), fifths = eight(0);
    for (std::size_t k = 0; k < groups_ * lanes; k += lanes) {
      const Floats x = load(row(value) + k) * norm;
      store(row(of_length) + k, x);
      z_arow += load(row(arow_w) + k) * x;
      variances += load(row(arow_variance) + k) * (x * x);
      z_adagrad += load(row(adagrad_w) + k) * load(row(of_rarity) + k);
      const Floats plus = load(row(positives) + k), minus = load(row(negatives) + k);
      const Floats r = choose(plus + minus > 0.0f, ln((plus + p) / (minus + q)) - base, eight(0));
      z_bayes += size(load(row(of_scale) + k)) * r;
      const Floats r2 = r * r, r4 = r2 * r2;
      fourths += r4;
      fifths += r4 * r;
    }
    sums_[arow] = z_arow, sums_[adagrad] = z_adagrad, sums_[bayes] = z_bayes, sums_[list] = fifths;
    variances_ = variances, fourths_ = fourths;
  }

  // h with h = σ(−(margin + 2·reach·h)), by four Newton steps from σ(−margin).
  static double implicit_root(double margin, double reach, double h) {
    for (int step = 0; step < 4; ++step) {
      const double e = sigmoid(-(margin + 2 * reach * h));
      h -= (h - e) / (1 + 2 * reach * e * (1 - e));
    }
    return h;
  }

  void write_back(const Steps& by) {
    constexpr float eg_limit = 242582597.7f, winnow_limit = 5.343e12f;  // sinh 20, sinh 30
    for (std::size_t k = 0; k < groups_ * lanes; k += lanes) {
      const auto old = [&](std::size_t field) __attribute__((always_inline)) { return load(row(field) + k); };
      const Floats u = old(of_scale), count = is_feature(k);
      Floats a[lanes], b[lanes], c[lanes];
      a[scale] = old(scale);
      a[positives] = old(positives) + count * by.positive;
      a[negatives] = old(negatives) + count * (1 - by.positive);
      const Floats g = u * by.coin, size_g = size(g);
      a[coin_sum] = old(coin_sum) + g;
      a[coin_size] = old(coin_size) + size_g;
      a[coin_reward] = most(old(coin_reward) + old(coin_w) * g, eight(0));
      a[coin_most] = most(most(old(coin_most), size_g), size(u) * by.coin_floor);
      a[implicit_w] = old(implicit_w) + old(implicit_step) * by.implicit;
      b[implicit_sum - lanes] = old(implicit_sum);
      const Floats certain = old(arow_variance) * old(of_length);
      b[arow_w - lanes] = old(arow_w) + certain * by.arow;
      b[arow_variance - lanes] = old(arow_variance) - certain * certain * by.shrink;
      const Floats ga = old(of_rarity) * by.adagrad, sum_a = old(adagrad_sum) + ga * ga;
      b[adagrad_w - lanes] = old(adagrad_w) + ga / root(sum_a);
      b[adagrad_sum - lanes] = sum_a;
      const Floats gf = u * by.ftrl, sum_f = old(ftrl_sum) + gf * gf;
      b[ftrl_w - lanes] = old(ftrl_w) + (gf * 0.3f) / (0.3f + root(sum_f));
      b[ftrl_sum - lanes] = sum_f;
      b[eg_w - lanes] = clip(sinh_moved(old(eg_w), u * by.eg), eg_limit);
      c[hinge_w - line_floats] = by.hinge != 0 ? old(hinge_w) + old(hinge_step) * by.hinge : old(hinge_w);
      c[hinge_sum - line_floats] = old(hinge_sum);
      c[sgd_w - line_floats] = old(sgd_w) + u * by.sgd;
      c[winnow_w - line_floats] = clip(sinh_moved(old(winnow_w), u * by.winnow), winnow_limit);
      c[seen - line_floats] = old(seen);
      c[mean - line_floats] = old(mean);
      c[spread - line_floats] = old(spread);
      c[spare - line_floats] = eight(0);
      float* second[lanes];
#pragma GCC unroll 8
      for (std::size_t j = 0; j < lanes; ++j) second[j] = line_[k + j] + lanes;
      scatter(a, line_.data() + k);
      scatter(b, second);
      scatter(c, side_.data() + k);
    }
  }

  Table<Line> lines_;
  Table<Side> sides_;
  Line constant_line_{}, pad_line_{};
  Side constant_side_{}, pad_side_{};
  double positives_ = 1, negatives_ = 1, rounds_ = 0;

  // Of the row that was scored last.
  std::size_t groups_ = 0, room_ = 0;
  std::vector<float> memory_;
  float* row_ = nullptr;
  std::vector<float*> line_, side_;
  float tail_[lanes] = {};
  double scale_norm_ = 1, rarity_norm_ = 1, prior_ = 0, confidence_ = 0;
  Floats squares_{}, rare_squares_{}, variances_{}, fourths_{}, sums_[list + 1]{};
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
