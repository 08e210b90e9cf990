// Tests of the panel without Python: the first rounds by hand, equal bits at all SIMD levels, and states of a file.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "panel/state.hpp"
#include "tests/check.hpp"

using namespace mistakebound::panel;

namespace {

struct Row {
  std::vector<std::uint32_t> slot;
  std::vector<float> value;
  std::vector<std::uint64_t> token;
  bool label = false;

  Example example() const { return {slot.data(), value.data(), token.data(), slot.size()}; }
};

// Rows of 0 to 300 features, so that triples, pairs, frequent features and none of them are used; values of all sizes.
std::vector<Row> stream(std::size_t rows, std::size_t width, bool extreme) {
  std::mt19937_64 random(7);
  std::vector<Row> all(rows);
  for (Row& row : all) {
    constexpr std::size_t largest[4] = {12, 48, 120, 300};
    const std::size_t size = random() % (largest[random() % 4] + 1);
    std::size_t odd = 0;
    for (std::size_t k = 0, next = random() % 7; k < size && next < width; ++k, next += 1 + random() % (width / size + 1)) {
      row.slot.push_back(static_cast<std::uint32_t>(next));
      row.token.push_back(next * 0x9E3779B97F4A7C15ULL);
      constexpr float sizes[6] = {1e-30f, 1e-10f, 1, 2, 1e10f, 1e30f};
      const float sign = random() % 2 == 0 ? 1.0f : -1.0f;
      row.value.push_back(sign * (extreme ? sizes[random() % 6] : static_cast<float>(1 + random() % 3)));
      odd += next % 2;
    }
    row.label = 2 * odd > row.slot.size();
  }
  return all;
}

void first_rounds() {
  const std::unique_ptr<Core> panel = plain_panel();
  panel->resize(2);
  Row row;
  row.slot = {0, 1}, row.value = {2, -4}, row.token = {0, 1};
  Verdict verdict = panel->predict(row.example());
  CHECK(verdict.logit == 0 && verdict.positive && verdict.probability == 0.5);
  for (std::size_t i = 0; i < members; ++i) CHECK(panel->scores()[i] == 0);
  panel->learn(row.example(), false);
  row.slot = {0}, row.value = {1}, row.token = {0};
  verdict = panel->predict(row.example());
  // As in tests/panel/test_reference.py: weights -1/2 of the feature, at half of its scale, and of the constant.
  CHECK(std::fabs(panel->scores()[coin] + 0.75 / std::sqrt(1.25)) < 1e-6);
  CHECK(!verdict.positive && verdict.logit < 0);
}

#ifdef MISTAKEBOUND_LEVELS
void levels_agree() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
  for (const bool extreme : {false, true}) {
    const std::unique_ptr<Core> plain = plain_panel(), avx2 = avx2_panel();
    plain->resize(1000);
    avx2->resize(1000);
    for (const Row& row : stream(600, 1000, extreme)) {
      const Verdict one = plain->predict(row.example()), other = avx2->predict(row.example());
      CHECK(one.logit == other.logit && one.positive == other.positive);
      for (std::size_t i = 0; i < members; ++i) {
        CHECK(plain->scores()[i] == avx2->scores()[i]);
        CHECK(std::isfinite(plain->scores()[i]));
      }
      plain->learn(row.example(), row.label);
      avx2->learn(row.example(), row.label);
    }
    const PanelState one = plain->state(), other = avx2->state();
    CHECK(one.features == other.features && one.slots == other.slots && one.touched == other.touched);
    CHECK(one.numbers == other.numbers);
  }
}
#endif

void a_prediction_changes_nothing() {
  const std::unique_ptr<Core> asked = plain_panel(), quiet = plain_panel();
  asked->resize(500);
  quiet->resize(500);
  const std::vector<Row> rows = stream(200, 500, false);
  for (std::size_t t = 0; t < rows.size(); ++t) {
    asked->predict(rows[(7 * t) % rows.size()].example());
    const double one = asked->predict(rows[t].example()).logit;
    CHECK(one == quiet->predict(rows[t].example()).logit);
    asked->learn(rows[t].example(), rows[t].label);
    quiet->learn(rows[t].example(), rows[t].label);
  }
}

void a_state_continues() {
  const std::unique_ptr<Core> whole = plain_panel();
  whole->resize(500);
  const std::vector<Row> rows = stream(300, 500, false);
  std::unique_ptr<Core> again;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    if (t == 150) {
      again = plain_panel();
      again->restore(whole->state());
      CHECK(again->features() == 500);
    }
    const double logit = whole->predict(rows[t].example()).logit;
    whole->learn(rows[t].example(), rows[t].label);
    if (!again) continue;
    CHECK(again->predict(rows[t].example()).logit == logit);
    again->learn(rows[t].example(), rows[t].label);
  }
}

void bad_states_are_refused() {
  const std::unique_ptr<Core> panel = plain_panel();
  panel->resize(3);
  const PanelState good = panel->state();
  const auto refuses = [](const PanelState& state) {
    try {
      plain_panel()->restore(state);
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  PanelState bad = good;
  bad.features.pop_back();
  CHECK(refuses(bad));
  bad = good;
  bad.numbers.push_back(0);
  CHECK(refuses(bad));
  bad = good;
  bad.touched.push_back(1);
  CHECK(refuses(bad));
  bad.touched.back() = static_cast<std::uint32_t>(slot_count);
  bad.slots.resize(bad.slots.size() + slot_floats);
  CHECK(refuses(bad));
  CHECK(!refuses(good));
}

}  // namespace

int main() {
  first_rounds();
#ifdef MISTAKEBOUND_LEVELS
  levels_agree();
#endif
  a_prediction_changes_nothing();
  a_state_continues();
  bad_states_are_refused();
  std::puts("panel: all checks passed");
}
