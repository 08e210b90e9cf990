// The panel of several classes: seventeen members score a row for every class, the combiner predicts, and all learn.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "panel/classes/check.hpp"
#include "panel/classes/combiner.hpp"
#include "panel/classes/core.hpp"
#include "panel/classes/feature_members.hpp"
#include "panel/classes/priors.hpp"
#include "panel/classes/slot_members.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class ClassPanel final : public ClassCore {
 public:
  ClassPanel(const Roster& roster, std::size_t most_dense)
      : roster_(roster), of_features_(std::min(most_dense, most_active)), of_slots_(std::min(most_dense, most_active)), combiner_(roster) {
    if (roster.has(members)) throw std::invalid_argument("a panel of several classes has no members from outside");
  }

  std::size_t features() const override { return of_features_.features(); }
  void reserve(std::size_t features) override { of_features_.reserve(features); }
  void resize(std::size_t features) override { of_features_.resize(features); }
  std::size_t classes() const override { return priors_.classes(); }

  ClassVerdict predict(const ClassRow& x) override {
    views_.look(x, of_features_.records.data(), priors_.total, combiner_.rounds());
    z_.clear(classes());
    priors_.look();
    of_features_.score(x, views_, priors_, classes(), z_);
    of_slots_.score(views_.used, classes(), z_);
    sequence_.score(priors_.seen, combiner_.rounds(), z_.of(history));
    z_.limit();
    return verdict_ = combiner_.predict(z_, classes());
  }
  const std::vector<double>& probabilities() const override { return combiner_.probabilities(); }
  void explain(const ClassRow& x, Parts& to) override {
    const ClassVerdict verdict = predict(x);
    to.start(x.size, classes());
    to.prediction = verdict.prediction, to.overridden = verdict.overridden, to.probabilities = probabilities();
    if (classes() == 0) return;
    of_features_.explain(x, views_, priors_, classes(), to);
    to.add_slots(views_.tokens(x, of_features_.records.data(), combiner_.rounds()), views_.used.counts);
    of_slots_.explain(views_.used, to);
    combiner_.explain(z_, classes(), to);
  }
  float scale_of(std::size_t feature) const override { return of_features_.records.data()[feature + before_owners].scale; }

  ClassAdvice advice() const override {
    ClassAdvice it;
    for (std::size_t i = 0; i < class_members; ++i) it.scores.insert(it.scores.end(), z_.of(i), z_.of(i) + classes());
    for (std::size_t e = 0; e < combiner_.experts(); ++e)
      for (std::size_t k = 0; k < classes(); ++k) it.log_probabilities.push_back(combiner_.log_probability(e, k));
    return it;
  }

  void learn(const ClassRow& x, std::int32_t label, double weight) override {
    const std::size_t before = classes(), after = std::max(before, static_cast<std::size_t>(label) + 1);
    make_room(x, after);
    combiner_.learn(verdict_, label, before, after > before ? 0 : priors_.seen[static_cast<std::size_t>(label)]);
    if (after > before) {
      priors_.mass.push_back(0), priors_.seen.push_back(0);
      for (std::size_t i = 0; i < class_members; ++i) z_.of(i)[before] = 0;
    }
    active_.choose(z_, roster_, after, label);
    places_.set(active_);
    if (weight > 0) {  // otherwise the row is predicted, but not learned by the members
      of_features_.learn(x, views_, active_, places_, after, weight);
      of_slots_.learn(views_.used, active_, places_, after, weight);
    }
    places_.clear(active_);
    priors_.learn(label, weight);
    sequence_.learn(label);
  }

  std::vector<Standing> standings() const override { return combiner_.standings(); }
  Totals totals() const override { return combiner_.totals(); }
  const Leadership& leadership() const override { return combiner_.leadership(); }

  ClassState state() const override {
    ClassState it;
    of_features_.cells.copy(it.cells);
    for (const std::uint32_t owner : it.cells.owners) {
      const FeatureRecord& record = of_features_.records.data()[owner];
      it.features.insert(it.features.end(), {record.scale, record.mean, record.spread, static_cast<double>(record.seen), record.count});
    }
    of_slots_.cells.copy(it.slots);
    sequence_.copy(it.contexts, it.context_sizes);
    const_cast<ClassPanel*>(this)->each_number([&it](double& number) { it.numbers.push_back(number); });
    for (std::size_t k = 0; k < priors_.classes(); ++k) it.numbers.insert(it.numbers.end(), {priors_.mass[k], priors_.seen[k]});
    const Leadership& leads = combiner_.leadership();
    for (std::size_t k = 0; k < leads.rounds.size(); ++k) it.leads.insert(it.leads.end(), {leads.rounds[k], leads.members[k]});
    return it;
  }

  void restore(const ClassState& from, std::size_t features) override {
    std::size_t fixed = 0;
    each_number([&fixed](double&) { ++fixed; });
    if (from.numbers.size() < fixed || (from.numbers.size() - fixed) % 2 != 0)
      throw std::invalid_argument("the numbers of the combiner have a wrong size");
    const std::size_t known = (from.numbers.size() - fixed) / 2;
    check(from, features, known);
    resize(features);
    const double* next = from.numbers.data();
    each_number([&next](double& number) { number = *next++; });
    for (std::size_t k = 0; k < known; ++k) priors_.mass.push_back(*next++), priors_.seen.push_back(*next++);
    const auto is_label = [known](double label) { return label >= 0 && label <= static_cast<double>(known) && label == std::floor(label); };
    if (!combiner_.valid() || !(priors_.total >= 0) || !std::all_of(priors_.seen.begin(), priors_.seen.end(), is_count) ||
        !std::all_of(priors_.mass.begin(), priors_.mass.end(), [this](double mass) { return mass >= 0 && mass <= priors_.total; }) ||
        !std::all_of(sequence_.last.begin(), sequence_.last.end(), is_label) || !combiner_.allows(from.leads))
      throw std::invalid_argument("a count of the state is not a whole number, or out of range");
    of_features_.cells.set_classes(known), of_slots_.cells.set_classes(known);
    of_features_.cells.restore(from.cells);
    for (std::size_t k = 0; k < from.cells.owners.size(); ++k) {
      const double* const f = from.features.data() + k * feature_numbers;
      of_features_.records.data()[from.cells.owners[k]] = {static_cast<float>(f[0]), static_cast<float>(f[1]), static_cast<float>(f[2]),
                                                           static_cast<std::uint32_t>(f[3]), f[4]};
    }
    of_slots_.cells.restore(from.slots);
    sequence_.restore(from.contexts, from.context_sizes);
    Leadership& leads = combiner_.leadership();
    for (std::size_t k = 0; k < from.leads.size(); k += 2) leads.rounds.push_back(from.leads[k]), leads.members.push_back(from.leads[k + 1]);
  }

 private:
  void make_room(const ClassRow& x, std::size_t after) {
    of_features_.make_room(x, after);
    of_slots_.make_room(views_.used, after);
    sequence_.make_room();
    priors_.mass.reserve(after), priors_.seen.reserve(after);
    places_.reserve(after);
    active_.reserve(after);
  }
  template <class Visit>
  void each_number(Visit visit) {
    visit(priors_.total);
    for (double& label : sequence_.last) visit(label);
    combiner_.each_number(visit);
  }

  Roster roster_;
  FeatureMembers of_features_;
  SlotMembers of_slots_;
  Priors priors_;
  LabelSequence sequence_;
  ClassCombiner combiner_;
  // Of the row that was predicted last.
  Views views_;
  ClassScores z_;
  ClassVerdict verdict_;
  Active active_;
  ActivePlaces places_;
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
