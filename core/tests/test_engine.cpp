// Tests of the engine without Python: streams of a few rules by hand, faults, growing width, names, and snapshots.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "play/engine.hpp"
#include "tests/check.hpp"

using namespace mistakebound;

namespace {

Settings positional(std::size_t width) {
  Settings settings;
  settings.width = width;
  return settings;
}
Settings with_names() {
  Settings settings;
  settings.named = true;
  return settings;
}

std::vector<float> z_of(const Engine& engine) {
  std::vector<float> z(engine.slots());
  engine.copy_z(z.data());
  return z;
}

// Play rows of (index, value) with their labels.
struct Rows {
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> index;
  std::vector<double> value;
  std::vector<std::int8_t> y;
  std::vector<std::uint8_t> predictions;

  Rows& row(const std::vector<std::pair<std::int32_t, double>>& x, std::int8_t label) {
    for (const auto& [i, v] : x) index.push_back(i), value.push_back(v);
    indptr.push_back(static_cast<std::int64_t>(index.size()));
    y.push_back(label);
    return *this;
  }
  Csr<std::int32_t, double> csr() const {
    return {indptr.data(), static_cast<std::int64_t>(y.size()), index.data(), value.data(), static_cast<std::int64_t>(value.size())};
  }
  Stop play(Engine& engine) {
    predictions.assign(y.size(), 9);
    return engine.play(csr(), y.data(), predictions.data());
  }
};

// A score of 0 predicts positive. The first round is a mistake, and the second uses the new weight. The third adds both features.
void perceptron() {
  for (const bool avx2 : {false, true}) {
    Engine engine("perceptron", 0, positional(2), 1 << 20);
    engine.use_avx2(avx2);
    Rows rows;
    rows.row({{0, 1}}, -1).row({{0, 1}, {1, 1}}, -1).row({{0, 2}, {1, 0.5}}, 1);
    const Stop stop = rows.play(engine);
    CHECK(stop.fault == Fault::none && stop.row == 3);
    CHECK((rows.predictions == std::vector<std::uint8_t>{1, 0, 0}));
    CHECK((z_of(engine) == std::vector<float>{1, 0.5}));
    const Record& record = engine.record();
    CHECK(record.rounds == 3 && record.false_positives == 1 && record.false_negatives == 1 && record.updates == 2);
    CHECK((record.mistake_rounds == std::vector<std::int64_t>{0, 2}));
  }
}

// alpha = 2, threshold 2, weights 1 1 1. {0, 1} reaches the threshold and is wrong: both weights are halved. {0} is then below the
// threshold and wrong: its weight is doubled. A tie predicts positive.
void winnow() {
  Settings settings = positional(3);
  settings.threshold = 2;
  Engine engine("winnow", 2, settings, 1 << 20);
  Rows rows;
  rows.row({{0, 1}, {1, 1}}, -1).row({{0, 1}}, 1).row({{0, 1}, {2, 1}}, 1);
  CHECK(rows.play(engine).fault == Fault::none);
  CHECK((rows.predictions == std::vector<std::uint8_t>{1, 0, 1}));
  CHECK((z_of(engine) == std::vector<float>{0, -1, 0}));
}

// Only a mistake on a negative example causes an update. A mistake on a positive example is counted and kept.
void elimination() {
  Settings settings = positional(2);
  settings.threshold = 1;
  Engine engine("elimination", 0, settings, 1 << 20);
  Rows rows;
  rows.row({{0, 1}}, -1).row({{0, 1}}, 1);
  CHECK(rows.play(engine).fault == Fault::none);
  CHECK((z_of(engine) == std::vector<float>{-1, 0}));
  CHECK(engine.record().updates == 1 && engine.record().to_keep == 2 && engine.record().false_negatives == 1);
}

// Rounds before a bad row stay learned. The bad row changes nothing.
void faults() {
  const double infinite = std::numeric_limits<double>::infinity();
  const auto after_one = [](const char* rule, std::vector<std::pair<std::int32_t, double>> x, std::int8_t label) {
    Settings settings = positional(2);
    settings.threshold = std::string(rule) == "winnow" ? 1 : 0;
    Engine engine(rule, 2, settings, 1 << 20);
    Rows rows;
    rows.row({{0, 1}}, -1).row(x, label);
    const Stop stop = rows.play(engine);
    CHECK(stop.row == 1 && engine.record().rounds == 1);
    CHECK((z_of(engine) == std::vector<float>{-1, 0}));
    return stop;
  };
  CHECK(after_one("perceptron", {{0, 1}}, 3).fault == Fault::label);
  Stop stop = after_one("perceptron", {{0, 1}, {7, 1}}, -1);
  CHECK(stop.fault == Fault::index && stop.position == 2 && !stop.of_sum);
  CHECK(after_one("perceptron", {{-1, 1}}, -1).fault == Fault::index);
  CHECK(after_one("perceptron", {{1, infinite}}, -1).fault == Fault::not_finite);
  CHECK(after_one("perceptron", {{1, 1e31}}, -1).fault == Fault::too_large);
  CHECK(after_one("perceptron", {{1, 1e-31}}, -1).fault == Fault::too_small);
  CHECK(after_one("winnow", {{1, 0.5}}, -1).fault == Fault::not_binary);
  stop = after_one("winnow", {{0, 1}, {1, 1}, {1, 1}}, -1);
  CHECK(stop.fault == Fault::not_binary && stop.position == 2 && stop.of_sum);

  Engine engine("perceptron", 0, positional(2), 0);
  Rows rows;
  rows.row({{0, 1}}, -1);
  rows.indptr[1] = 5;
  CHECK(rows.play(engine).fault == Fault::malformed);
  bool refused = false;
  try {
    Engine("no-such-rule", 0, positional(1), 0);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}

// Learning a larger index increases the width of a growing learner. Scoring it does not.
void growth() {
  Settings settings = positional(0);
  settings.growing = true;
  Engine engine("normalized-winnow", 1, settings, 1 << 20);
  Rows rows;
  rows.row({{0, 1}}, -1).row({{4, 1}}, 1);
  CHECK(rows.play(engine).fault == Fault::none);
  CHECK(engine.slots() == 5 && engine.settings().width == 5);
  double score = 0;
  std::uint8_t prediction = 0;
  Rows wider;
  wider.row({{9, 1}}, 1);
  CHECK(engine.scores(wider.csr(), &score, &prediction).fault == Fault::none);
  CHECK(engine.slots() == 5 && score > 0 && prediction == 1);
}

NamedRow example(const std::vector<std::string>& names) {
  NamedRow row;
  row.grow(names.size());
  row.may_repeat = true;
  for (const std::string& name : names) row.add(name, 1);
  return row;
}

// Only names of rounds with an update get ids, and repeated names are summed. A restored engine continues like the original one.
void names_and_snapshot() {
  const std::vector<std::string> first{"a", "b", "a"}, second{"c"}, third{"b", "a much longer name"};
  Engine engine("balanced-winnow", 0.5, with_names(), 1 << 20);
  bool positive = false;
  std::size_t at = 0;
  NamedRow x = example(first);
  CHECK(engine.learn(x, -1, positive, at) == Fault::none && positive);
  NamedRow unseen = example(second);
  CHECK(engine.learn(unseen, 1, positive, at) == Fault::none && positive);
  CHECK(engine.names().size() == 2 && engine.names().name(0) == "a" && engine.names().name(1) == "b");
  CHECK((z_of(engine) == std::vector<float>{0, -2, -1}));

  Engine other("balanced-winnow", 0.5, with_names(), 1 << 20);
  other.restore(engine.snapshot());
  double scores[2] = {0, 1};
  bool answers[2] = {false, true};
  Engine* const both[2] = {&engine, &other};
  for (int k = 0; k < 2; ++k) {
    NamedRow last = example(third);
    CHECK(both[k]->learn(last, 1, positive, at) == Fault::none);
    NamedRow again = example(first);
    CHECK(both[k]->score(again, scores[k], answers[k], at) == Fault::none);
  }
  CHECK(scores[0] == scores[1] && answers[0] == answers[1] && !answers[0]);
  CHECK(z_of(engine) == z_of(other) && other.names().name(2) == "a much longer name");

  Snapshot forged = engine.snapshot();
  forged.total.sum += 1;
  bool refused = false;
  try {
    Engine("balanced-winnow", 0.5, with_names(), 0).restore(forged);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}

// A mistake is one of the earlier prediction, and the number of updates since then is kept.
void late_outcomes() {
  Settings settings;
  settings.width = 2;
  Engine engine("perceptron", 0, settings, 1 << 20);
  const std::int64_t indptr[2] = {0, 1};
  const std::int64_t index[1] = {0};
  const double value[1] = {1};
  const Csr<std::int64_t, double> row{indptr, 1, index, value, 1};
  const std::int8_t no = -1;
  std::uint8_t prediction = 0;
  for (int k = 0; k < 2; ++k) {  // both were predicted with z = 0, which is positive
    const Engine::UseEarlier use(engine, {true, 0.0, 0});
    CHECK(engine.play(row, &no, &prediction).row == 1 && prediction == 1);
  }
  CHECK((z_of(engine) == std::vector<float>{-2, 0}));
  CHECK(engine.record().updates == 2 && engine.record().false_positives == 2);
  CHECK((engine.record().late_round == std::vector<std::int64_t>{1}));
  CHECK((engine.record().late_delay == std::vector<std::int64_t>{1}));
  CHECK(engine.play(row, &no, &prediction).row == 1 && prediction == 0);  // a new prediction is right
  CHECK(engine.record().updates == 2);
}

// The averaged Perceptron by hand: its scalar counts all rounds, it keeps no examples, and a snapshot has the scalar.
void scalars() {
  Engine engine("averaged-perceptron", 0, positional(2), 1 << 20);
  Rows rows;
  rows.row({{0, 1}}, -1).row({{0, 1}}, -1).row({{0, 1}}, 1).row({{0, 1}}, 1);
  CHECK(rows.play(engine).fault == Fault::none);
  const Snapshot it = engine.snapshot();
  CHECK((it.state == std::vector<float>{0, 2, 0, 0}) && (it.scalars == std::vector<double>{5}));
  double weights[2] = {};
  engine.copy_weights(weights);
  CHECK(weights[0] == -2.0 / 5 && weights[1] == 0 && engine.bias_weight() == 0);
  const Record& record = engine.record();
  CHECK(record.updates == 2 && record.false_positives == 1 && record.false_negatives == 2);
  CHECK(record.to_keep == 0 && record.kept_round.empty() && record.mistake_rounds.size() == 3);

  Engine other("averaged-perceptron", 0, positional(2), 0);
  other.restore(it);
  CHECK(other.snapshot().scalars == it.scalars && other.snapshot().state == it.state);
  Snapshot forged = it;
  forged.scalars.push_back(1);
  bool refused = false;
  try {
    Engine("averaged-perceptron", 0, positional(2), 0).restore(forged);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}

// The rows of rules with steps are converted to one type: faults still have their positions in the batch.
void rows_of_one_type() {
  for (const char* rule : {"arow", "naive-bayes", "logistic-sgd"}) {
    Engine engine(rule, 1, positional(2), 1 << 20);
    Rows rows;
    rows.row({{0, 1}}, -1).row({{0, 1}, {7, 1}}, -1);
    Stop stop = rows.play(engine);
    CHECK(stop.row == 1 && stop.fault == Fault::index && stop.position == 2 && engine.record().rounds == 1);
    const std::int64_t indptr[2] = {0, 2}, index[2] = {0, std::int64_t{1} << 40};
    const float value[2] = {1, 1};
    const std::int8_t label = 1;
    std::uint8_t prediction = 0;
    stop = engine.play(Csr<std::int64_t, float>{indptr, 1, index, value, 2}, &label, &prediction);
    CHECK(stop.row == 0 && stop.fault == Fault::index && stop.position == 1);
    const double dense[4] = {0, 1, 0, 1e31};
    const std::int8_t labels[2] = {1, -1};
    std::uint8_t predictions[2] = {};
    stop = engine.play(Dense<double>{dense, 2, 2}, labels, predictions);
    CHECK(stop.row == 1 && stop.fault == Fault::too_large && stop.position == 3 && engine.record().rounds == 2);
    const std::int64_t decreasing[2] = {2, 0};
    CHECK(engine.play(Csr<std::int64_t, float>{decreasing, 1, index, value, 2}, &label, &prediction).fault == Fault::malformed);
  }
}

}  // namespace

int main() {
  perceptron();
  winnow();
  elimination();
  faults();
  growth();
  names_and_snapshot();
  late_outcomes();
  scalars();
  rows_of_one_type();
  std::puts("engine: all checks passed");
}
