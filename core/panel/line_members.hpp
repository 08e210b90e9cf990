// The first group of members: those whose numbers of a feature fill one line of the cache. Views of x, scores, and learning;
// eight features are worked on at a time. Twin of src/mistakebound/rules.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "memory/table.hpp"
#include "panel/block.hpp"
#include "panel/doubles.hpp"
#include "panel/floats.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class LineMembers {
 public:
  LineMembers() { resize(0); }

  void resize(std::size_t features) {
    lines_.resize(before_features + features);
    float* const one = record(constant_index);
    float* const none = record(padding_index);
    if (one[scale] != 0) return;
    one[scale] = none[scale] = 1;
    one[implicit_sum] = one[adagrad_sum] = first_sum;
    none[implicit_sum] = none[adagrad_sum] = 1;
    one[arow_variance] = none[arow_variance] = 1;
  }
  void reserve(std::size_t features) { lines_.reserve(before_features + features); }
  std::size_t features() const { return lines_.size() - before_features; }
  float* record(std::ptrdiff_t i) { return (lines_.data() + before_features)[i].at; }
  const float* record(std::ptrdiff_t i) const { return (lines_.data() + before_features)[i].at; }
  bool large() const { return lines_.size() * sizeof(Line) > large_bytes; }
  double rounds() const { return rounds_; }
  const Line* table() const { return lines_.data() + before_features; }
  template <class Visit>
  void each_number(Visit visit) {
    visit(positives_), visit(negatives_), visit(rounds_);
  }

  // Fetch these records of the second group of members while rows are played; null for none.
  void fetch_with(const Side* sides) { sides_ = sides; }

  // Score a row without changing what is kept: changes are made in the scratch of the row, which `learn` writes back.
  void score(const Row& x, Block& block, std::size_t r) {
    if (groups_.size() < x.groups) groups_.resize(2 * x.groups);
    for (std::size_t k = 0; k < lanes; ++k) tail_[k] = (x.groups - 1) * lanes + k < x.size ? -1 : 0;
    first_pass(x, block, r);
    count_pass(x, block, r);
    second_pass(x);
    double* const scores = block.scores(r);
    // Norms factor out of the sums of their views; the constant has added the 1.
    block.norm[r] = norm_ = 1 / std::sqrt(static_cast<double>(sum(squares_)));
    rarity_norm_ = 1 / std::sqrt(static_cast<double>(sum(rare_squares_)));
    length_norm_ = 1 / std::sqrt(static_cast<double>(sum(lengths_)));
    scores[coin] = norm_ * sum(z_[coin]);
    scores[implicit] = norm_ * sum(z_[implicit]);
    scores[arow] = length_norm_ * sum(z_[arow]);
    scores[adagrad] = rarity_norm_ * sum(z_[adagrad]);
    scores[ftrl] = sum(z_[ftrl]);
    scores[eg] = norm_ * .5 * sum(z_[eg]);
    scores[bayes] = prior_ + sum(z_[bayes]) / larger(1, static_cast<double>(x.size) / 24);
    const double fourths = sum(fourths_);
    scores[list] = prior_ + (fourths > 0 ? sum(z_[list]) / fourths : 0);
    confidence_ = length_norm_ * length_norm_ * sum(variances_);
  }

  // Learn the row that was scored last.
  void learn(const Row& x, int label, const double* scores) {
    const double y = label;
    alignas(32) const double logits[8] = {scores[coin], scores[implicit], scores[adagrad], scores[ftrl], scores[eg], 0, 0, 0};
    alignas(32) double surprise[8];  // σ(−y·score)
    for (std::size_t k = 0; k < 8; k += 4) store(surprise + k, sigmoid(load(logits + k) * -y));
    const auto norm = static_cast<float>(norm_);
    Steps by;
    by.norm = norm;
    by.implicit_gradient = static_cast<float>(surprise[1]) * norm;
    by.coin = static_cast<float>(y * surprise[0]) * norm;
    by.coin_floor = .5f * norm;
    by.adagrad = static_cast<float>(y * surprise[2]) * static_cast<float>(rarity_norm_);
    by.ftrl = static_cast<float>(y * surprise[3]);
    by.eg = static_cast<float>(.5 * y * surprise[4]) * norm;
    const double short_of = 1 - y * scores[arow];
    by.length = static_cast<float>(length_norm_) * length_scale_;
    by.shrink = short_of > 0 ? static_cast<float>(1 / (confidence_ + .03)) : 0;
    by.arow = short_of > 0 ? static_cast<float>(y * short_of) * by.shrink : 0;
    by.positive = label > 0 ? -1 : 0;
    const double reach = first_update(x, by);
    by.implicit = static_cast<float>(2 * y * implicit_root(y * scores[implicit], reach, surprise[1]));
    second_update(x, by);
    (label > 0 ? positives_ : negatives_) += 1;
    rounds_ += 1;
  }

 private:
  static constexpr std::size_t large_bytes = std::size_t{1} << 19;

  struct Steps {
    float norm, implicit_gradient, implicit, coin, coin_floor, adagrad, ftrl, eg, length, shrink, arow;
    std::int32_t positive;  // −1 or 0
  };
  // Eight features: their numbers as vectors, and what a round needs of them.
  struct alignas(32) Group {
    float at[line_floats][lanes];
    float scaled[lanes], rare[lanes], bet[lanes], step[lanes];
    float* record[lanes];
  };

  // The constant and the padding are not features: they are not counted.
  MISTAKEBOUND_INLINE Whole is_feature(const Row& x, std::size_t g) const { return load(g + 1 == x.groups ? tail_ : every_); }

  // Prefetch lines that later rows need, and what the second group of members needs of this row. A core waits for a limited
  // number of lines at a time, so each pass asks for some.
  template <std::size_t First, std::size_t Last>
  MISTAKEBOUND_INLINE void fetch_lines(const Row& x, std::size_t g) const {
    if (x.ahead == nullptr) return;
#pragma GCC unroll 8
    for (std::size_t j = First; j < Last; ++j) __builtin_prefetch(lines_.data() + before_features + x.ahead[g * lanes + j], 1, 2);
  }
  template <std::size_t First, std::size_t Last>
  MISTAKEBOUND_INLINE void fetch_sides(const Row& x, std::size_t g) const {
    if (sides_ == nullptr) return;
    const std::int32_t* const at = x.index_of(g);
#pragma GCC unroll 8
    for (std::size_t j = First; j < Last; ++j) __builtin_prefetch(sides_ + at[j], 1, 2);
  }

  // The first eight numbers: scale, counts, coin betting and the weights of the implicit steps.
  void first_pass(const Row& x, Block& block, std::size_t r) {
    Floats squares = eight(0), z_coin = eight(0), z_implicit = eight(0);
    Line* const lines = lines_.data() + before_features;
    float* const scaled = block.scaled(r);
    Group* group = groups_.data();
    for (std::size_t g = 0; g < x.groups; ++g, ++group) {
      fetch_lines<0,3>(x, g);
      fetch_sides<0,1>(x, g);
      const std::int32_t* const at = x.index_of(g);
#pragma GCC unroll 8
      for (std::size_t j = 0; j < lanes; ++j) group->record[j] = lines[at[j]].at;
      Floats a[lanes];
      gather(group->record, a);
      const Floats v = load(x.value_of(g));
      a[scale] = most(a[scale], size(v));
      const Floats u = v / a[scale];
      squares = fused(u, u, squares);
      store(scaled + g * lanes, u);
      store(group->scaled, u);
      const Floats most_bet = most(a[coin_most], eight(least_bet));
      const Floats w = clip((a[coin_sum] * (most_bet + a[coin_reward])) / (most_bet * (a[coin_size] + most_bet)), largest_weight);
      store(group->bet, w);
      z_coin = fused(w, u, z_coin);
      z_implicit = fused(a[implicit_w], u, z_implicit);
#pragma GCC unroll 8
      for (std::size_t f = 0; f < lanes; ++f) store(group->at[f], a[f]);
    }
    squares_ = squares;
    z_[coin] = z_coin, z_[implicit] = z_implicit;
  }

  // What follows from the counts: how rare a feature is, and its evidence for naive Bayes and the decision list.
  void count_pass(const Row& x, Block& block, std::size_t r) {
    const double share = positives_ / (positives_ + negatives_);
    prior_ = ln_ratio(positives_, negatives_);
    const auto p = static_cast<float>(share), q = static_cast<float>(1 - share), base = static_cast<float>(prior_);
    const auto round = static_cast<float>(rounds_ + 1);
    const bool wide = x.size > most_for_pairs && x.size <= most_for_tokens;
    Floats rare_squares = eight(0), z_bayes = eight(0), fourths = eight(0), fifths = eight(0);
    Group* group = groups_.data();
    for (std::size_t g = 0; g < x.groups; ++g, ++group) {
      fetch_lines<3,5>(x, g);
      fetch_sides<1,3>(x, g);
      const Floats u = load(group->scaled), plus = count_of(load(group->at[positives])), minus = count_of(load(group->at[negatives]));
      const Floats count = plus + minus, after = count + 1.0f;
      const Floats rare = u * choose(is_feature(x, g), ln((after + round) / after), eight(1));
      rare_squares = fused(rare, rare, rare_squares);
      store(group->rare, rare);
      const Floats evidence = choose(count > 0.0f, ln((plus + p) / (minus + q)) - base, eight(0));
      z_bayes = fused(size(u), evidence, z_bayes);
      const Floats square = evidence * evidence, fourth = square * square;
      fourths += fourth;
      fifths = fused(fourth, evidence, fifths);
      if (wide) block.frequent(r)[g] = places(after * 4.0f >= round - 1.0f);
    }
    rare_squares_ = rare_squares, fourths_ = fourths;
    z_[bayes] = z_bayes, z_[list] = fifths;
  }

  // The other eight numbers: AROW, AdaGrad, FTRL and exponentiated gradients.
  void second_pass(const Row& x) {
    // Squares of values up to 1e30 are too large for float32.
    length_scale_ = x.largest > 1e15f ? 0x1p-100f : 1.0f;
    Floats lengths = eight(0), z_arow = eight(0), variances = eight(0), z_adagrad = eight(0), z_ftrl = eight(0), z_eg = eight(0);
    Group* group = groups_.data();
    for (std::size_t g = 0; g < x.groups; ++g, ++group) {
      fetch_lines<5,6>(x, g);
      fetch_sides<3,4>(x, g);
      Floats b[lanes];
      gather<lanes>(group->record, b);
      const Whole fresh = b[arow_variance - lanes] == 0.0f;
      b[implicit_sum - lanes] = choose(fresh, eight(first_sum), b[implicit_sum - lanes]);
      b[adagrad_sum - lanes] = choose(fresh, eight(first_sum), b[adagrad_sum - lanes]);
      b[arow_variance - lanes] = choose(fresh, eight(1), b[arow_variance - lanes]);
      const Floats v = load(x.value_of(g)) * length_scale_, square = v * v, u = load(group->scaled);
      lengths += square;
      z_arow = fused(b[arow_w - lanes], v, z_arow);
      variances = fused(b[arow_variance - lanes], square, variances);
      z_adagrad = fused(b[adagrad_w - lanes], load(group->rare), z_adagrad);
      z_ftrl = fused(b[ftrl_w - lanes], u, z_ftrl);
      z_eg = fused(b[eg_w - lanes], u, z_eg);
#pragma GCC unroll 8
      for (std::size_t f = 0; f < lanes; ++f) store(group->at[lanes + f], b[f]);
    }
    lengths_ = lengths, variances_ = variances;
    z_[arow] = z_arow, z_[adagrad] = z_adagrad, z_[ftrl] = z_ftrl, z_[eg] = z_eg;
  }

  // Update the second eight numbers. Returns D = Σx²/√G of the implicit step.
  double first_update(const Row& x, const Steps& by) {
    constexpr float eg_limit = 242582597.7f;  // sinh 20
    Floats reach = eight(0);
    Group* group = groups_.data();
    for (std::size_t g = 0; g < x.groups; ++g, ++group) {
      fetch_lines<6,7>(x, g);
      fetch_sides<4,6>(x, g);
      const auto old = [&](std::size_t field) __attribute__((always_inline)) { return load(group->at[field]); };
      const Floats u = load(group->scaled), scaled = u * by.norm, gradient = u * by.implicit_gradient;
      Floats b[lanes];
      b[implicit_sum - lanes] = fused(gradient, gradient, old(implicit_sum));
      const Floats step = scaled / root(b[implicit_sum - lanes]);
      store(group->step, step);
      reach = fused(scaled, step, reach);
      const Floats certain = old(arow_variance) * (load(x.value_of(g)) * by.length);
      b[arow_w - lanes] = clip(fused(certain, by.arow, old(arow_w)), largest_weight);
      b[arow_variance - lanes] = fused_away(certain * by.shrink, certain, old(arow_variance));
      const Floats of_rare = load(group->rare) * by.adagrad, squares = fused(of_rare, of_rare, old(adagrad_sum));
      b[adagrad_w - lanes] = old(adagrad_w) + of_rare / root(squares);
      b[adagrad_sum - lanes] = squares;
      const Floats of_ftrl = u * by.ftrl, total = fused(of_ftrl, of_ftrl, old(ftrl_sum));
      b[ftrl_w - lanes] = old(ftrl_w) + (of_ftrl * 0.3f) / (0.3f + root(total));
      b[ftrl_sum - lanes] = total;
      b[eg_w - lanes] = clip(sinh_moved(old(eg_w), u * by.eg), eg_limit);
      scatter<lanes>(b, group->record);
    }
    return static_cast<double>(sum(reach));
  }

  // Update the first eight numbers.
  void second_update(const Row& x, const Steps& by) {
    Group* group = groups_.data();
    for (std::size_t g = 0; g < x.groups; ++g, ++group) {
      fetch_lines<7,8>(x, g);
      fetch_sides<6,8>(x, g);
      const auto old = [&](std::size_t field) __attribute__((always_inline)) { return load(group->at[field]); };
      const Floats u = load(group->scaled);
      const Whole feature = is_feature(x, g);
      Floats a[lanes];
      a[scale] = old(scale);
      a[positives] = counted(old(positives), feature & by.positive);
      a[negatives] = counted(old(negatives), feature & ~by.positive);
      const Floats gradient = u * by.coin, bet = size(gradient);
      a[coin_sum] = old(coin_sum) + gradient;
      a[coin_size] = old(coin_size) + bet;
      a[coin_reward] = most(least(fused(load(group->bet), gradient, old(coin_reward)), eight(largest_reward)), eight(0));
      a[coin_most] = most(most(old(coin_most), bet), size(u) * by.coin_floor);
      a[implicit_w] = fused(load(group->step), by.implicit, old(implicit_w));
      scatter(a, group->record);
    }
  }

  // h with h = σ(−(margin + 2·reach·h)), by at most four Newton steps from σ(−margin).
  static double implicit_root(double margin, double reach, double h) {
    for (int step = 0; step < 4; ++step) {
      const double e = sigmoid(-(margin + 2 * reach * h)), by = (h - e) / (1 + 2 * reach * e * (1 - e));
      h -= by;
      if (std::fabs(by) <= 1e-4 * h) break;  // the next step would be about 1e-8
    }
    return h;
  }

  Table<Line> lines_;
  const Side* sides_ = nullptr;
  double positives_ = 1, negatives_ = 1, rounds_ = 0;

  // Of the row that was scored last.
  std::vector<Group> groups_;
  static constexpr std::int32_t every_[lanes] = {-1, -1, -1, -1, -1, -1, -1, -1};
  std::int32_t tail_[lanes] = {};
  float length_scale_ = 1;
  double norm_ = 1, rarity_norm_ = 1, length_norm_ = 1, prior_ = 0, confidence_ = 0;
  Floats squares_{}, rare_squares_{}, lengths_{}, variances_{}, fourths_{}, z_[list + 1]{};
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
