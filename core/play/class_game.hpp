// What every learner of several classes has beside its state: labels that travel beside the rows of a batch, and its record.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "play/class_record.hpp"
#include "play/record.hpp"

namespace mistakebound {

// Of the rows of a batch. Pointers may be null, apart from that to predictions and, for learning, that to labels.
struct ClassLabels {
  const std::int32_t* label = nullptr;  // numbered in the order of their first round
  std::int32_t* prediction = nullptr;   // -1 before the first label
  double* log_probability = nullptr;    // of the label; that of a new label included
  double* confidence = nullptr;         // the probability of the prediction, or its score
  const double* weight = nullptr;
  double* probability = nullptr;  // for scoring: of each class, and after them of a new label; or the scores
};

// A prediction whose label arrives later.
struct EarlierClass {
  std::int32_t prediction;
  double confidence;          // the probability of the prediction
  double probability, brier;  // of the label, and the sum of (p − y)²
  std::int64_t updates;       // before the prediction
};

class ClassGame {
 public:
  Record record;  // mistakes are counted as false positives
  ClassRecord of_classes;
  std::optional<EarlierClass> earlier_class;  // if set, the next round uses this prediction instead of a new one

  virtual std::size_t classes() const = 0;
  virtual std::int64_t first_seen() const = 0;  // rounds whose label had not occurred before
  virtual std::int64_t overrides() const = 0;   // of the guard of a panel

  // While an object of this class exists, rows have these labels.
  class UseLabels {
   public:
    UseLabels(ClassGame& game, const ClassLabels& labels) : game_(game) { game.labels_ = labels; }
    ~UseLabels() { game_.labels_ = {}; }
    UseLabels(const UseLabels&) = delete;
    UseLabels& operator=(const UseLabels&) = delete;

   private:
    ClassGame& game_;
  };

 protected:
  ClassGame() = default;
  ~ClassGame() = default;
  ClassLabels labels_;
};

}  // namespace mistakebound
