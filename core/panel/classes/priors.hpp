// How often each class was seen, and the last labels: the prior member, and the label sequence (orders 0 to 3, each of which backs
// off to the lower one with weight 1).
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "panel/classes/scores.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class Priors {
 public:
  // Of each class: its share π of the weights, as float with 1 − π and the logit, and exact logarithms.
  std::vector<float> share, rest, narrow_logit;
  std::vector<double> log_share, logit;

  std::size_t classes() const { return mass.size(); }
  std::vector<double> mass, seen;  // weights and rows of each class
  double total = 0;                // of the weights

  void look() {
    const std::size_t count = classes(), padded = (count / lanes + 1) * lanes;
    share.assign(padded, .5f), rest.assign(padded, .5f), narrow_logit.assign(padded, 0);
    log_share.assign(padded, 0), logit.assign(padded, 0);
    const double start = 1 / static_cast<double>(std::max<std::size_t>(count, 2));
    for (std::size_t first = 0; first < count; first += 4) {
      Numbers<Four> p{{.5, .5, .5, .5}};
      for (std::size_t k = first; k < count && k < first + 4; ++k) p.at[k - first] = (mass[k] + start) / (total + 1);
      const Four chance = load(p.at), against = 1.0 - chance, of_chance = quick_ln(chance);
      store(log_share.data() + first, of_chance);
      store(logit.data() + first, of_chance - quick_ln(against));
      for (std::size_t k = first; k < count && k < first + 4; ++k) {
        share[k] = static_cast<float>(p.at[k - first]);
        rest[k] = static_cast<float>(1 - p.at[k - first]);
        narrow_logit[k] = static_cast<float>(logit[k]);
      }
    }
  }
  void learn(std::int32_t label, double weight) {
    const auto k = static_cast<std::size_t>(label);
    mass[k] += weight;
    seen[k] += 1;
    total += weight;
  }
};

class LabelSequence {
 public:
  static constexpr std::size_t orders = context_orders;
  struct Context {
    double rows = 0;
    std::vector<std::pair<std::int32_t, float>> counts;
  };
  std::vector<Context> contexts = std::vector<Context>(context_count);
  LastLabels last{};  // the last labels plus 1, the newest first; 0 before the first

  void score(const std::vector<double>& seen, double rounds, float* z) {
    const std::size_t classes = seen.size();
    chance_.assign((classes + 3) / 4 * 4, 1);
    const double all_rows = rounds + .4 * static_cast<double>(classes);
    for (std::size_t k = 0; k < classes; ++k) chance_[k] = (seen[k] + .4) / all_rows;
    const auto at = now();
    for (std::size_t order = 0; order < orders; ++order) {
      const Context& context = contexts[at[order]];
      if (context.rows == 0) continue;
      for (const auto& [label, count] : context.counts) chance_[static_cast<std::size_t>(label)] += static_cast<double>(count);
      for (double& p : chance_) p /= context.rows + 1;
    }
    for (std::size_t k = 0; k < classes; k += 4) store(chance_.data() + k, quick_ln(load(chance_.data() + k)));
    for (std::size_t k = 0; k < classes; ++k) z[k] = static_cast<float>(chance_[k]);
  }
  // Allocate memory for what `learn` adds.
  void make_room() {
    for (const std::size_t at : now())
      if (auto& counts = contexts[at].counts; counts.size() == counts.capacity()) counts.reserve(2 * counts.size() + 1);
  }
  void learn(std::int32_t label) {
    constexpr double most_rows = 250;
    for (const std::size_t at : now()) {
      Context& context = contexts[at];
      add(context, label, 1);
      if (context.rows > most_rows) halve(context);
    }
    last = {static_cast<double>(label) + 1, last[0], last[1]};
  }
  static void add(Context& context, std::int32_t label, float rows) {
    const auto found = std::find_if(context.counts.begin(), context.counts.end(), [label](const auto& c) { return c.first == label; });
    if (found == context.counts.end())
      context.counts.emplace_back(label, rows);
    else
      found->second += rows;
    context.rows += static_cast<double>(rows);
  }
  static void halve(Context& context) {
    context.rows *= .5;
    for (auto& count : context.counts) count.second *= .5f;
  }

  void copy(PairState& to, std::vector<double>& sizes) const {
    for (std::size_t at = 0; at < contexts.size(); ++at) {
      if (contexts[at].counts.empty()) continue;
      auto sorted = contexts[at].counts;
      std::sort(sorted.begin(), sorted.end());
      to.owners.push_back(static_cast<std::uint32_t>(at));
      to.counts.push_back(static_cast<std::uint32_t>(sorted.size()));
      for (const auto& [label, count] : sorted) to.classes.push_back(label), to.values.push_back(count);
      sizes.push_back(contexts[at].rows);
    }
  }
  // Restore checked contexts into a new sequence.
  void restore(const PairState& from, const std::vector<double>& sizes) {
    std::size_t next = 0;
    for (std::size_t k = 0; k < from.owners.size(); ++k) {
      Context& context = contexts[from.owners[k]];
      context.rows = sizes[k];
      for (std::uint32_t c = 0; c < from.counts[k]; ++c, ++next) context.counts.emplace_back(from.classes[next], from.values[next]);
    }
  }

  std::array<std::size_t, orders> now() const { return contexts_of(last); }

 private:
  std::vector<double> chance_;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
