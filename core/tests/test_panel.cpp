// Tests of the panel without Python: the first rounds by hand, equal bits at all SIMD levels, for all sizes of blocks and with two
// threads, the bound of the guard, explanations, and states of a file.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "panel/core.hpp"
#include "panel/pipeline.hpp"
#include "panel/shared_core.hpp"
#include "tests/check.hpp"

using namespace mistakebound::panel;

namespace {

struct Example {
  std::vector<std::int32_t> index;
  std::vector<float> value;
  std::vector<std::uint64_t> token;
  bool label = false;

  float largest() const {
    float most = 0;
    for (const float v : value) most = std::max(most, std::fabs(v));
    return most;
  }
  void add_to(Block& block) const {
    const Block::Arrays to = block.room_for(index.size());
    std::copy(index.begin(), index.end(), to.index);
    std::copy(value.begin(), value.end(), to.value);
    std::copy(token.begin(), token.end(), to.token);
    block.added(index.size(), largest(), true, label ? 1 : -1);
  }
};

const bool all_members[members] = {true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true};
const bool lean_members[members] = {true, true, true, true, false, true, false, false, true, true, true, true, true, true, false, true};
const Roster full(all_members, 0), lean(lean_members, 0);

// Rows of 0 to 300 features, so that triples, pairs, frequent features and none of them are used; values of all sizes.
std::vector<Example> stream(std::size_t rows, std::size_t width, bool extreme) {
  std::mt19937_64 random(7);
  std::vector<Example> all(rows);
  for (Example& row : all) {
    constexpr std::size_t largest[4] = {12, 48, 120, 300};
    const std::size_t size = random() % (largest[random() % 4] + 1);
    std::size_t odd = 0;
    for (std::size_t k = 0, next = random() % 7; k < size && next < width; ++k, next += 1 + random() % (width / size + 1)) {
      row.index.push_back(static_cast<std::int32_t>(next));
      row.token.push_back(next * 0x9E3779B97F4A7C15ULL);
      constexpr float sizes[6] = {1e-30f, 1e-10f, 1, 2, 1e10f, 1e30f};
      const float sign = random() % 2 == 0 ? 1.0f : -1.0f;
      row.value.push_back(sign * (extreme ? sizes[random() % 6] : static_cast<float>(1 + random() % 3)));
      odd += next % 2;
    }
    row.label = 2 * odd > row.index.size();
  }
  return all;
}

// A panel that plays and predicts examples.
struct Player {
  std::unique_ptr<Core> core;
  Block block;

  Player(std::unique_ptr<Core> made, std::size_t features) : core(std::move(made)) {
    core->resize(features);
    block.set_features(features);
  }
  const Block& play(const Example* first, std::size_t rows) {
    block.clear();
    for (std::size_t r = 0; r < rows; ++r) first[r].add_to(block);
    core->play(block);
    return block;
  }
  Verdict play(const Example& row) { return play(&row, 1).verdict[0]; }
  Verdict predict(const Example& row) {
    block.clear();
    row.add_to(block);
    return core->predict(block, 0);
  }
};

bool same(const PanelState& a, const PanelState& b) {
  return a.features == b.features && a.records == b.records && a.touched == b.touched && a.slots == b.slots && a.numbers == b.numbers && a.leads == b.leads;
}

void first_rounds() {
  Player panel(plain_panel(full, false), 2);
  Example row;
  row.index = {0, 1}, row.value = {2, -4}, row.token = {0, 1};
  Verdict verdict = panel.play(row);
  CHECK(verdict.logit == 0 && verdict.positive && verdict.probability == 0.5);
  for (std::size_t i = 0; i < members; ++i) CHECK(panel.block.scores(0)[i] == 0);
  row.index = {0}, row.value = {1}, row.token = {0};
  verdict = panel.predict(row);
  // As in tests/panel/test_reference.py: weights -1/2 of the feature, at half of its scale, and of the constant.
  CHECK(std::fabs(panel.block.scores(0)[coin] + 0.75 / std::sqrt(1.25)) < 1e-6);
  CHECK(!verdict.positive && verdict.logit < 0);
  CHECK(panel.core->totals().mistakes == 1 && panel.core->totals().rounds == 1);
}

#ifdef MISTAKEBOUND_LEVELS
void levels_agree() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
  for (const Roster* roster : {&full, &lean})
    for (const bool extreme : {false, true}) {
      Player plain(plain_panel(*roster, false), 1000), avx2(avx2_panel(*roster, true), 1000);
      for (const Example& row : stream(600, 1000, extreme)) {
        const Verdict one = plain.play(row), other = avx2.play(row);
        CHECK(one.logit == other.logit && one.positive == other.positive);
        CHECK(std::isfinite(one.logit));
        for (std::size_t i = 0; i < members; ++i) {
          CHECK(plain.block.scores(0)[i] == avx2.block.scores(0)[i]);
          CHECK(std::isfinite(plain.block.scores(0)[i]));
        }
      }
      CHECK(same(plain.core->state(), avx2.core->state()));
    }
}
#endif

void blocks_of_any_size() {
  const std::vector<Example> rows = stream(300, 500, false);
  for (const Roster* roster : {&full, &lean}) {
    Player one(plain_panel(*roster, false), 500), many(plain_panel(*roster, true), 500);
    std::mt19937_64 random(1);
    for (std::size_t t = 0; t < rows.size();) {
      const std::size_t count = std::min(1 + random() % Block::most_rows, rows.size() - t);
      many.play(rows.data() + t, count);
      for (std::size_t r = 0; r < count; ++r, ++t) {
        const Verdict alone = one.play(rows[t]), together = many.block.verdict[r];
        CHECK(alone.logit == together.logit && alone.probability == together.probability && alone.positive == together.positive);
      }
    }
    CHECK(same(one.core->state(), many.core->state()));
  }
}

bool same(const Verdict& a, const Verdict& b) {
  return a.logit == b.logit && a.probability == b.probability && a.positive == b.positive && a.overridden == b.overridden;
}

// Rows through blocks of any size: full ones, some that are pushed early, and empty ones, with a second thread that is started and
// ended again and again. Each block comes back once, in its turn.
void two_threads_equal_one() {
  const std::vector<Example> rows = stream(4000, 500, false);
  for (const Roster* roster : {&full, &lean})
    for (const bool restart : {false, true}) {
      Player one(plain_panel(*roster, false), 500);
      const std::unique_ptr<Core> core = plain_panel(*roster, true);
      core->resize(500);
      std::vector<Verdict> verdicts;
      {
        Pipeline blocks(*core);
        const auto played = [&](Block& block) { verdicts.insert(verdicts.end(), block.verdict, block.verdict + block.rows()); };
        std::mt19937_64 random(3);
        blocks.start();
        for (const Example& row : rows) {
          blocks.block().set_features(500);
          row.add_to(blocks.block());
          if (blocks.block().full() || random() % 40 == 0) blocks.push(played);
          if (random() % 100 == 0) blocks.push(played);  // often empty
          if (restart && random() % 500 == 0) {
            blocks.push(played);
            blocks.drain(played);
            blocks.stop();
            blocks.stop();
            if (random() % 2 == 0) blocks.start();  // otherwise one thread goes on
          }
        }
        blocks.push(played);
        blocks.push(played);
        blocks.drain(played);
        blocks.drain(played);
      }  // ends the thread
      CHECK(verdicts.size() == rows.size());
      for (std::size_t t = 0; t < rows.size(); ++t) CHECK(same(one.play(rows[t]), verdicts[t]));
      CHECK(same(one.core->state(), core->state()));
    }
}

// A pipeline that is destroyed before its blocks were taken ends its thread.
void a_pipeline_may_end_early() {
  const std::vector<Example> rows = stream(200, 500, false);
  const std::unique_ptr<Core> core = plain_panel(full, true);
  core->resize(500);
  Pipeline blocks(*core);
  blocks.start();
  blocks.start();
  for (const Example& row : rows) {
    blocks.block().set_features(500);
    row.add_to(blocks.block());
    if (blocks.block().full()) blocks.push([](Block&) {});
  }
}

// A quiet member that is right among loud noise: the guard never allows more mistakes than its theorem.
void the_guard_keeps_its_bound() {
  bool none[members] = {};
  const Roster roster(none, 5);
  const std::unique_ptr<Core> core = plain_panel(roster, false);
  core->resize(0);
  std::mt19937_64 random(5);
  Block block;
  for (int t = 0; t < 2000; ++t) {
    const bool truth = random() % 2 == 0;
    block.clear();
    block.room_for(0);
    block.added(0, 0, false, truth ? 1 : -1);
    double* const scores = block.scores(0) + members;
    scores[0] = truth ? 1e-7 : -1e-7;  // always right, but so quiet that the mixture is noise
    for (std::size_t k = 1; k < 5; ++k) scores[k] = random() % 2 == 0 ? 8 : -8;
    core->play(block);
    const Totals totals = core->totals();
    CHECK(totals.mistakes <= (totals.fewest * std::log(2.0) + std::log(8.0)) / std::log(4.0 / 3));
  }
  CHECK(core->totals().fewest == 0 && core->totals().overrides > 100);
}

void a_prediction_changes_nothing() {
  Player asked(plain_panel(full, false), 500), quiet(plain_panel(full, false), 500);
  const std::vector<Example> rows = stream(200, 500, false);
  for (std::size_t t = 0; t < rows.size(); ++t) {
    asked.predict(rows[(7 * t) % rows.size()]);
    const double before = asked.predict(rows[t]).logit;
    CHECK(before == quiet.play(rows[t]).logit);
    CHECK(asked.play(rows[t]).logit == before);
  }
  CHECK(same(asked.core->state(), quiet.core->state()));
}

// What the places and slots of a row add to each score is the score, up to float32 rounding.
void the_parts_add_up(Player& panel, const Example& row) {
  Parts parts;
  panel.block.clear();
  row.add_to(panel.block);
  const Verdict verdict = panel.core->explain(panel.block, 0, parts);
  CHECK(verdict.logit == parts.logit && parts.scores.size() == members);
  for (std::size_t i = 0; i < history; ++i) {
    double total = 0, size = 0;
    const auto add = [&](double part) { total += part, size += std::fabs(part); };
    if (i < Parts::place_members)
      for (std::size_t place = 0; place < parts.places; ++place) add(parts.of(place, i));
    for (std::size_t slot = 0; i >= coin_pairs && 3 * slot < parts.slots.size(); ++slot)
      if ((parts.slots[3 * slot + 2] >= 0) == (i >= coin_triples)) add(parts.of_slot(slot, (i - coin_pairs) % 2));
    CHECK(std::fabs(total - parts.scores[i]) <= 1e-5 * (1 + size));
  }
}
void an_explanation_changes_nothing() {
  for (const bool extreme : {false, true}) {
    Player asked(plain_panel(full, false), 500), quiet(plain_panel(full, false), 500);
    const std::vector<Example> rows = stream(200, 500, extreme);
    for (std::size_t t = 0; t < rows.size(); ++t) {
      the_parts_add_up(asked, rows[(7 * t) % rows.size()]);
      the_parts_add_up(asked, rows[t]);
      CHECK(asked.play(rows[t]).logit == quiet.play(rows[t]).logit);
    }
    CHECK(same(asked.core->state(), quiet.core->state()));
  }
}

void a_state_continues() {
  Player whole(plain_panel(full, false), 500);
  const std::vector<Example> rows = stream(300, 500, false);
  std::unique_ptr<Player> again;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    if (t == 150) {
      again = std::make_unique<Player>(plain_panel(full, false), 0);
      again->core->restore(whole.core->state(), 500);
      again->block.set_features(500);
      CHECK(again->core->features() == 500);
      CHECK(same(again->core->state(), whole.core->state()));
    }
    const double logit = whole.play(rows[t]).logit;
    if (again) CHECK(again->play(rows[t]).logit == logit);
  }
}

void bad_states_are_refused() {
  Player panel(plain_panel(full, false), 3);
  Example row;
  row.index = {1}, row.value = {1}, row.token = {1};
  panel.play(row);
  const PanelState good = panel.core->state();
  CHECK(good.features == std::vector<std::uint32_t>{1} && good.touched.size() == 1);
  const auto refuses = [](const PanelState& state) {
    try {
      plain_panel(full, false)->restore(state, 3);
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  PanelState bad = good;
  bad.records.pop_back();
  CHECK(refuses(bad));
  bad = good;
  bad.features[0] = 3;
  CHECK(refuses(bad));
  bad = good;
  bad.numbers.push_back(0);
  CHECK(refuses(bad));
  bad = good;
  bad.touched.push_back(1);
  CHECK(refuses(bad));
  bad = good;
  bad.touched[0] = static_cast<std::uint32_t>(slot_count);
  CHECK(refuses(bad));
  CHECK(!refuses(good));
}

// The panel of one of several labels.
struct OfLabel final : LabelPanel {
  std::unique_ptr<Core> core;
  std::vector<double> logits;

  explicit OfLabel(std::unique_ptr<Core> made) : core(std::move(made)) {}
  void reserve(std::size_t features) override { core->reserve(features); }
  void resize(std::size_t features) override { core->resize(features); }
  void play_shared(Block& block, const SlotsOfRows& slots) override {
    core->play_shared(block, slots);
    for (std::size_t r = 0; r < block.rows(); ++r) logits.push_back(block.verdict[r].logit);
  }
};

// Play rows in blocks of any size for several labels, of which the last one begins with row `late`.
void play_labels(SharedCore& shared, std::vector<std::unique_ptr<OfLabel>>& labels, const std::vector<Example>& rows, std::size_t late,
                 bool two_threads) {
  Block block;
  std::mt19937_64 random(3);
  for (std::size_t begin = 0, end = late; begin < rows.size(); begin = end, end = rows.size()) {
    if (begin == late && late > 0) labels.back()->core->share(shared.views());
    const std::size_t count = begin < late ? labels.size() - 1 : labels.size();
    std::vector<LabelPanel*> panels;
    std::vector<std::int8_t> y;
    for (std::size_t k = 0; k < count; ++k) {
      panels.push_back(labels[k].get());
      for (std::size_t t = begin; t < end; ++t) y.push_back(rows[t].label == (k % 2 == 0) ? 1 : -1);
    }
    shared.begin({panels.data(), count, y.data(), end - begin}, two_threads);
    for (std::size_t t = begin; t < end;) {
      block.clear();
      block.set_features(500);
      for (std::size_t left = 1 + random() % Block::most_rows; left > 0 && t < end; --left) rows[t++].add_to(block);
      shared.play(block);
    }
    shared.finish();
    shared.end();
  }
}

void labels_share_views(std::unique_ptr<SharedCore> (*make_shared)(), std::unique_ptr<Core> (*make)(const Roster&, bool)) {
  for (const bool extreme : {false, true}) {
    const std::vector<Example> rows = stream(300, 500, extreme);
    for (const bool two_threads : {false, true})
      for (const Roster* roster : {&full, &lean}) {
        const auto shared = make_shared();
        shared->resize(500);
        std::vector<std::unique_ptr<OfLabel>> labels;
        for (int k = 0; k < 5; ++k) {
          labels.push_back(std::make_unique<OfLabel>(make(*roster, false)));
          if (k < 4) labels.back()->core->share(shared->views());
        }
        play_labels(*shared, labels, rows, 100, two_threads);
        for (std::size_t k = 0; k < 2; ++k) {
          Player alone(make(*roster, false), 500);
          for (std::size_t t = 0; t < rows.size(); ++t) {
            Example row = rows[t];
            row.label = row.label == (k % 2 == 0);
            CHECK(alone.play(row).logit == labels[k]->logits[t]);
          }
          CHECK(same(alone.core->state(), labels[k]->core->state()));
          CHECK(same(alone.core->state(), labels[k + 2]->core->state()));
        }
        // The late label has its own rounds, and the counts of all rounds: each row that it did not play has no label.
        OfLabel& late = *labels.back();
        CHECK(late.logits.size() == 200 && late.core->totals().rounds == 200);
        const PanelState of_late = late.core->state(), of_first = labels.front()->core->state();
        CHECK(of_late.features == of_first.features);
        CHECK(of_late.numbers[2] == 300 && of_late.numbers[0] + of_late.numbers[1] == 302);
        Player alone(make(*roster, false), 500);
        alone.core->restore(of_late, 500);
        for (std::size_t t = 0; t < 20; ++t) {
          Block block;
          block.set_features(500);
          rows[t].add_to(block);
          CHECK(same(alone.predict(rows[t]), late.core->predict(block, 0)));
        }
      }
  }
}

void panels_that_do_not_fit_are_refused() {
  const std::vector<Example> rows = stream(20, 500, false);
  const auto shared = plain_shared();
  shared->resize(500);
  Player played(plain_panel(full, false), 500);
  for (const Example& row : rows) played.play(row);
  const auto refuses = [&](Core& core) {
    try {
      core.share(shared->views());
    } catch (const std::exception&) {
      return true;
    }
    return false;
  };
  CHECK(refuses(*played.core));  // it has counted rows that the views have not
  const auto wide = plain_panel(full, false), two_threads = plain_panel(full, true);
  wide->resize(501);
  CHECK(refuses(*wide));
  CHECK(refuses(*two_threads));
  played.core->copy_to(shared->views());
  CHECK(!refuses(*played.core));
  const auto fresh = plain_panel(full, false);
  CHECK(!refuses(*fresh));
  CHECK(fresh->state().numbers[2] == 20 && fresh->features() == 500);
}

}  // namespace

int main() {
  first_rounds();
#ifdef MISTAKEBOUND_LEVELS
  levels_agree();
#endif
  blocks_of_any_size();
  two_threads_equal_one();
  a_pipeline_may_end_early();
  the_guard_keeps_its_bound();
  a_prediction_changes_nothing();
  an_explanation_changes_nothing();
  a_state_continues();
  bad_states_are_refused();
  labels_share_views(plain_shared, plain_panel);
#ifdef MISTAKEBOUND_LEVELS
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) labels_share_views(avx2_shared, avx2_panel);
#endif
  panels_that_do_not_fit_are_refused();
  std::puts("panel: all checks passed");
}
