// The panel: sixteen members score an example, the combiner predicts, and all learn. Twin of src/mistakebound/panel.
#pragma once
#include <cmath>
#include <cstdint>

#include "panel/combiner.hpp"
#include "panel/interactions.hpp"
#include "panel/members.hpp"
#include "panel/state.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

// The last three labels, and how often each label followed them.
struct History {
  double last = 0;  // as a number of three bits
  double positives[8] = {}, negatives[8] = {};

  double score() const {
    const auto now = static_cast<std::size_t>(last);
    const Four logs = ln(load(Numbers<Four>{{positives[now] + .4, negatives[now] + .4, 1, 1}}.at));
    return numbers(logs).at[0] - numbers(logs).at[1];
  }
  void learn(bool positive) {
    const auto now = static_cast<std::size_t>(last);
    (positive ? positives : negatives)[now] += 1;
    if (positives[now] + negatives[now] > 250) positives[now] *= .5, negatives[now] *= .5;
    last = static_cast<double>((now << 1 | (positive ? 1U : 0U)) & 7U);
  }
};

class Panel final : public Core {
 public:
  std::size_t features() const override { return members_.features(); }
  void reserve(std::size_t features) override { members_.reserve(features); }
  void resize(std::size_t features) override { members_.resize(features); }

  Verdict predict(const Example& x) override {
    members_.score(x, scores_);
    interactions_.score(x, members_, scores_);
    scores_[history] = history_.score();
    return verdict_ = combiner_.predict(scores_);
  }
  void learn(const Example& x, bool truth) override {
    const int label = truth ? 1 : -1;
    alignas(32) double surprise[members];
    for (std::size_t i = 0; i < members; i += 4) store(surprise + i, sigmoid(load(scores_ + i) * -static_cast<double>(label)));
    members_.learn(x, label, scores_, surprise);
    interactions_.learn(label, surprise);
    history_.learn(truth);
    combiner_.learn(truth, verdict_.positive);
  }
  const double* scores() const override { return scores_; }
  double mixture() const override { return combiner_.mixture(); }

  PanelState state() const override {
    PanelState it;
    it.features = members_.state();
    interactions_.copy(it);
    const_cast<Panel*>(this)->each_number([&it](double& number) { it.numbers.push_back(number); });
    return it;
  }
  void restore(const PanelState& from) override {
    std::size_t count = 0;
    each_number([&count](double&) { ++count; });
    if (from.numbers.size() != count) throw std::invalid_argument("the state of the combiner has a wrong size");
    members_.restore(from.features);
    interactions_.restore(from);
    const double* next = from.numbers.data();
    each_number([&next](double& number) { number = *next++; });
  }

 private:
  template <class Visit>
  void each_number(Visit visit) {
    members_.each_number(visit);
    visit(history_.last);
    for (double& count : history_.positives) visit(count);
    for (double& count : history_.negatives) visit(count);
    combiner_.each_number(visit);
  }

  Members members_;
  Interactions interactions_;
  History history_;
  Combiner combiner_;
  Verdict verdict_{};
  alignas(32) double scores_[members] = {};
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
