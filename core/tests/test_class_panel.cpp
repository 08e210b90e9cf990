// Tests of the panel of several classes without Python: the first rounds by hand, equal bits at all SIMD levels and for all layouts
// of its records, the bound of the guard, extreme values, memory, and states of a file.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "panel/classes/core.hpp"
#include "tests/check.hpp"

using namespace mistakebound::panel;

namespace {

constexpr std::uint32_t width = 400;

struct Example {
  std::vector<std::uint32_t> owner;
  std::vector<float> value;
  std::vector<std::uint64_t> token;
  std::int32_t label = 0;

  void add(std::uint32_t feature, float x) {
    owner.push_back(feature + static_cast<std::uint32_t>(before_owners));
    value.push_back(x);
    token.push_back(feature * 0x9E3779B97F4A7C15ULL);
  }
  void resize(std::size_t size) {
    for (std::uint32_t next = 0; owner.size() < size; ++next) add(width - 4 + next, 1);
    owner.resize(size), value.resize(size), token.resize(size);
  }
  ClassRow row() const { return {owner.data(), value.data(), token.data(), owner.size()}; }
};

const bool all_members[members] = {true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true};
const bool lean_members[members] = {true, true, true, true, false, true, false, false, true, true, true, true, true, true, false, true};
const Roster full(all_members, 0), lean(lean_members, 0);
// Rows of 0 to 300 features; a new class every few rounds, up to `classes`.
std::vector<Example> stream(std::size_t rows, std::int32_t classes, bool extreme) {
  std::mt19937_64 random(7);
  std::vector<Example> all(rows);
  std::int32_t seen = 0;
  for (Example& x : all) {
    constexpr std::size_t largest[6] = {12, 12, 12, 48, 120, 300};
    const std::size_t size = random() % (largest[random() % 6] + 1);
    std::uint32_t sum = 0;
    for (std::uint32_t k = 0, next = static_cast<std::uint32_t>(random() % 7); k < size && next < width;
         ++k, next += 1 + static_cast<std::uint32_t>(random() % (width / size + 1))) {
      constexpr float sizes[6] = {1e-30f, 1e-10f, 1, 2, 1e10f, 1e30f};
      const float sign = random() % 2 == 0 ? 1.0f : -1.0f;
      x.add(next, sign * (extreme ? sizes[random() % 6] : static_cast<float>(1 + random() % 3)));
      sum += next;
    }
    const bool is_new = seen < classes && (seen == 0 || random() % 8 == 0);
    x.label = is_new ? seen : static_cast<std::int32_t>(sum % static_cast<std::uint32_t>(seen));
    seen += is_new ? 1 : 0;
  }
  return all;
}

using Made = std::unique_ptr<ClassCore>;
Made sized(Made core, std::size_t features = width) {
  core->resize(features);
  return core;
}
ClassVerdict play(ClassCore& core, const Example& x) {
  const ClassVerdict verdict = core.predict(x.row());
  core.learn(x.row(), x.label, 1);
  return verdict;
}
bool same(const PairState& a, const PairState& b) {
  return a.owners == b.owners && a.counts == b.counts && a.classes == b.classes && a.values == b.values;
}
bool same(const ClassState& a, const ClassState& b) {
  return same(a.cells, b.cells) && same(a.slots, b.slots) && same(a.contexts, b.contexts) && a.features == b.features &&
         a.context_sizes == b.context_sizes && a.numbers == b.numbers && a.leads == b.leads;
}
bool same(const ClassVerdict& a, const ClassVerdict& b) {
  return a.prediction == b.prediction && a.overridden == b.overridden && a.fresh == b.fresh;
}
bool sound(const ClassCore& core, const ClassVerdict& verdict) {
  double total = 0;
  for (const double p : core.probabilities()) {
    if (!(p >= 0 && p <= 1)) return false;
    total += p;
  }
  const auto classes = static_cast<std::int32_t>(core.classes());
  return std::fabs(total - 1) < 1e-6 && verdict.prediction < classes && (verdict.prediction >= 0) == (classes > 0);
}

// As in tests/panel/test_class_games.py.
void first_rounds() {
  const Made core = sized(plain_classes(full), 2);
  Example first, second;
  first.add(0, 2), first.add(1, -4);
  second.add(0, 1);
  ClassVerdict verdict = core->predict(first.row());
  CHECK(verdict.prediction == -1 && verdict.fresh == 1 && core->probabilities() == std::vector<double>{1});
  core->learn(first.row(), 0, 1);
  CHECK(core->classes() == 1 && core->totals().rounds == 0);
  verdict = core->predict(second.row());
  CHECK(verdict.prediction == 0 && verdict.fresh == .625 && std::fabs(core->probabilities()[0] - .375) < 1e-12);
  core->learn(second.row(), 1, 1);
  CHECK(core->classes() == 2 && core->totals().rounds == 0 && core->totals().mistakes == 0);
  verdict = core->predict(second.row());
  CHECK(verdict.prediction == 1);
  CHECK(std::fabs(core->probabilities()[0] + core->probabilities()[1] + verdict.fresh - 1) < 1e-12);
  core->learn(second.row(), 0, 1);
  CHECK(core->totals().rounds == 1 && core->totals().mistakes == 1);
}

// Two panels that must be equal in every bit.
void compare(ClassCore& one, ClassCore& other, const std::vector<Example>& rows) {
  for (const Example& x : rows) {
    const ClassVerdict a = one.predict(x.row()), b = other.predict(x.row());
    CHECK(same(a, b) && one.probabilities() == other.probabilities() && sound(one, a));
    const ClassAdvice said = one.advice(), also = other.advice();
    CHECK(said.scores == also.scores && said.log_probabilities == also.log_probabilities);
    for (const double z : said.scores) CHECK(std::isfinite(z));
    one.learn(x.row(), x.label, 1), other.learn(x.row(), x.label, 1);
  }
  CHECK(same(one.state(), other.state()));
}

#ifdef MISTAKEBOUND_LEVELS
void levels_agree() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
  for (const Roster* roster : {&full, &lean})
    for (const bool extreme : {false, true}) compare(*sized(plain_classes(*roster)), *sized(avx2_classes(*roster)), stream(260, 24, extreme));
}
#endif

void layouts_agree() {
  for (const std::size_t most_dense : {std::size_t{0}, std::size_t{3}, std::size_t{8}, std::size_t{15}})
    compare(*sized(plain_classes(full)), *sized(plain_classes(full, most_dense)), stream(200, 24, false));
}

void extreme_values_stay_finite() {
  const Made core = sized(plain_classes(full));
  std::mt19937_64 random(3);
  for (const Example& x : stream(400, 30, true)) {
    const ClassVerdict verdict = core->predict(x.row());
    CHECK(sound(*core, verdict));
    constexpr double weights[4] = {0, 1e-9, 1, 1e9};
    core->learn(x.row(), x.label, weights[random() % 4]);
  }
  for (const double number : core->state().numbers) CHECK(std::isfinite(number));
  const Made again = plain_classes(full);
  again->restore(core->state(), width);
  CHECK(same(again->state(), core->state()));
}

void a_prediction_changes_nothing() {
  const Made asked = sized(plain_classes(full)), quiet = sized(plain_classes(full));
  const std::vector<Example> rows = stream(150, 20, false);
  for (std::size_t t = 0; t < rows.size(); ++t) {
    asked->predict(rows[(7 * t) % rows.size()].row());
    CHECK(same(play(*asked, rows[t]), play(*quiet, rows[t])));
  }
  CHECK(same(asked->state(), quiet->state()));
}

// W = Σ 2^(−wrong) ≤ n·(3/4)^M, and the mistakes that follow from it, also for labels that nothing can predict.
void the_guard_keeps_its_bound() {
  const Made core = sized(plain_classes(full));
  std::mt19937_64 random(11);
  for (Example& x : stream(600, 8, false)) {
    x.label = std::min(x.label, static_cast<std::int32_t>(core->classes()));
    if (random() % 2 == 0 && core->classes() > 1) x.label = static_cast<std::int32_t>(random() % core->classes());
    play(*core, x);
    const Totals totals = core->totals();
    double weight = 0;
    for (const Standing& of : core->standings()) weight += std::exp2(-of.mistakes);
    const auto n = static_cast<double>(core->standings().size());
    CHECK(std::log(weight) <= std::log(n) + totals.mistakes * std::log(.75) + 1e-9);
    CHECK(totals.mistakes <= (totals.fewest * std::log(2.0) + std::log(n)) / std::log(4.0 / 3));
  }
}

void a_state_continues() {
  for (const std::size_t at : {0, 1, 60, 170}) {
    const Made whole = sized(plain_classes(full)), again = plain_classes(full, 4);
    const std::vector<Example> rows = stream(220, 24, false);
    for (std::size_t t = 0; t < at; ++t) play(*whole, rows[t]);
    again->restore(whole->state(), width);
    CHECK(again->features() == width && again->classes() == whole->classes() && same(again->state(), whole->state()));
    compare(*whole, *again, {rows.begin() + static_cast<std::ptrdiff_t>(at), rows.end()});
  }
}

// Records are made for pairs of a feature and a class that were learned, and for no others.
void memory_grows_with_pairs_that_were_learned() {
  const Made core = sized(plain_classes(full), 100000);
  std::size_t cells = 0;
  for (std::int32_t k = 0; k < 60; ++k) {
    Example x;
    x.add(static_cast<std::uint32_t>(1000 * k), 1);
    x.label = k;
    play(*core, x);
    cells += 2 * std::min<std::size_t>(static_cast<std::size_t>(k) + 1, most_active);
  }
  const ClassState state = core->state();
  CHECK(state.cells.owners.size() == 61);  // and the constant
  CHECK(state.cells.classes.size() <= cells);
  CHECK(state.slots.owners.size() <= 60 && state.slots.classes.size() <= 60 * most_active);
}

// ---------------------------------------------------------------------- states of a file

bool refuses(const ClassState& state, std::size_t features = width) {
  try {
    plain_classes(full)->restore(state, features);
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

void bad_states_are_refused(const ClassState& good) {
  CHECK(!refuses(good));
  const auto refuses_after = [&good](const std::function<void(ClassState&)>& change) {
    ClassState bad = good;
    change(bad);
    return refuses(bad);
  };
  for (PairState ClassState::*const pairs : {&ClassState::cells, &ClassState::slots, &ClassState::contexts}) {
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).owners.pop_back(); }));
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).counts.pop_back(); }));
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).classes.pop_back(); }));
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).values.pop_back(); }));
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).values.push_back(0); }));
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).classes.push_back(0); }));
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).owners[1] = (s.*pairs).owners[0]; }));
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).owners.back() = 4000000000U; }));
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).counts[0] = 0; }));
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).counts[0] += 1; }));
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).counts.back() = 4294967295U; }));
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).classes[0] = -1; }));
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).classes.back() = 2147483647; }));
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).values[0] = std::numeric_limits<float>::quiet_NaN(); }));
    CHECK(refuses_after([=](ClassState& s) { (s.*pairs).values.back() = std::numeric_limits<float>::infinity(); }));
  }
  for (std::vector<double> ClassState::*const numbers : {&ClassState::features, &ClassState::context_sizes, &ClassState::numbers, &ClassState::leads}) {
    CHECK(refuses_after([=](ClassState& s) { (s.*numbers).pop_back(); }));
    CHECK(refuses_after([=](ClassState& s) { (s.*numbers).push_back(0); }));
    CHECK(refuses_after([=](ClassState& s) { (s.*numbers).clear(); }) || numbers == &ClassState::leads);
    for (const double bad : {std::nan(""), double(INFINITY), -double(INFINITY)})
      for (std::size_t k = 0; k < (good.*numbers).size(); ++k) CHECK(refuses_after([=](ClassState& s) { (s.*numbers)[k] = bad; }));
  }
  CHECK(refuses(good, 3));  // features that do not exist
}

// Change each number of a state: it is refused, or the panel goes on with probabilities.
void changed_states_are_refused_or_harmless(const ClassState& good, const std::vector<Example>& rows) {
  const auto goes_on = [&rows](const ClassState& state) {
    const Made core = plain_classes(full);
    try {
      core->restore(state, width);
    } catch (const std::invalid_argument&) {
      return true;
    }
    for (const Example& x : rows) {
      if (static_cast<std::size_t>(x.label) > core->classes()) continue;
      const ClassVerdict verdict = core->predict(x.row());
      if (!sound(*core, verdict)) return false;
      core->learn(x.row(), x.label, 1);
    }
    (void)core->standings(), (void)core->totals();
    return !refuses(core->state());  // what it has become is a state, too
  };
  int harmful = 0;
  const auto change = [&](auto numbers_of, std::size_t step) {
    ClassState state = good;
    auto& numbers = numbers_of(state);
    using Number = typename std::remove_reference_t<decltype(numbers)>::value_type;
    for (std::size_t k = 0; k < numbers.size(); k += step) {
      const Number before = numbers[k];
      for (const double to : {-1.0, 0.0, 0.5, 1e9, 1e30, -1e30, 1e300, 3e38}) {
        if constexpr (std::is_integral_v<Number>) {
          if (std::fabs(to) > 2e9 || to == .5 || (to < 0 && std::is_unsigned_v<Number>)) continue;
        } else if (std::is_same_v<Number, float> && std::fabs(to) > 3e38) {
          continue;
        }
        numbers[k] = static_cast<Number>(to);
        const bool harmless = goes_on(state);
        if (!harmless) std::fprintf(stderr, "number %zu of %zu, set to %g\n", k, numbers.size(), to);
        harmful += harmless ? 0 : 1;
      }
      numbers[k] = before;
    }
  };
  for (PairState ClassState::*const pairs : {&ClassState::cells, &ClassState::slots, &ClassState::contexts}) {
    const auto some = [&](std::size_t size) { return std::max<std::size_t>(size / 20, 1) | 1; };
    change([=](ClassState& s) -> auto& { return (s.*pairs).owners; }, some((good.*pairs).owners.size()));
    change([=](ClassState& s) -> auto& { return (s.*pairs).counts; }, some((good.*pairs).counts.size()));
    change([=](ClassState& s) -> auto& { return (s.*pairs).classes; }, some((good.*pairs).classes.size()));
    change([=](ClassState& s) -> auto& { return (s.*pairs).values; }, some((good.*pairs).values.size()));
  }
  for (std::vector<double> ClassState::*const numbers : {&ClassState::features, &ClassState::context_sizes, &ClassState::numbers, &ClassState::leads})
    change([=](ClassState& s) -> auto& { return s.*numbers; }, (good.*numbers).size() > 100 ? 3 : 1);
  CHECK(harmful == 0);
}

void hostile_states() {
  std::vector<Example> rows = stream(40, 5, false);
  for (std::size_t t = 0; t < rows.size(); ++t) rows[t].resize(1 + t % 4);
  const Made core = sized(plain_classes(full));
  for (const Example& x : rows) play(*core, x);
  const ClassState good = core->state();
  CHECK(!good.leads.empty());
  bad_states_are_refused(good);
  changed_states_are_refused_or_harmless(good, {rows.begin(), rows.begin() + 3});
}

}  // namespace

int main() {
  first_rounds();
#ifdef MISTAKEBOUND_LEVELS
  levels_agree();
#endif
  layouts_agree();
  extreme_values_stay_finite();
  a_prediction_changes_nothing();
  the_guard_keeps_its_bound();
  a_state_continues();
  memory_grows_with_pairs_that_were_learned();
  hostile_states();
  std::puts("panel of several classes: all checks passed");
}
