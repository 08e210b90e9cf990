// The interface of the panel of several classes, which each SIMD level implements. All levels give the same bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "panel/classes/state.hpp"
#include "panel/parts.hpp"
#include "panel/roster.hpp"

namespace mistakebound::panel {

// What members and mixers said of a row: matrices with a row for each of them and a column for each class, one row after the other.
struct ClassAdvice {
  std::vector<double> scores;             // of all members and the prior, also of those that do not play
  std::vector<double> log_probabilities;  // of the members that play, of the prior, and of the mixers
};

class ClassCore {
 public:
  virtual ~ClassCore() = default;
  virtual std::size_t features() const = 0;
  virtual void reserve(std::size_t features) = 0;
  virtual void resize(std::size_t features) = 0;  // new features start as never seen
  virtual std::size_t classes() const = 0;        // seen so far; class k was the k-th to be seen

  // Score and predict a row. What is kept does not change.
  virtual ClassVerdict predict(const ClassRow& row) = 0;
  // Of the row that was predicted last: the probability of each seen class, and after them that of a new label.
  virtual const std::vector<double>& probabilities() const = 0;
  virtual ClassAdvice advice() const = 0;  // on the row that was predicted last, before it is learned
  // Predict a row, and what its parts add to the scores.
  virtual void explain(const ClassRow& row, Parts& to) = 0;
  virtual float scale_of(std::size_t feature) const = 0;  // largest |x| so far; 0 for a feature that was never learned
  // Learn the label of the row that was predicted last. A label equal to classes() is a new one. If memory is short, it throws
  // before anything changes.
  virtual void learn(const ClassRow& row, std::int32_t label, double weight) = 0;

  virtual std::vector<Standing> standings() const = 0;  // of the members that play, of the prior, and of the mixers
  virtual Totals totals() const = 0;                    // of the rounds whose label had been seen before
  virtual const Leadership& leadership() const = 0;
  virtual ClassState state() const = 0;
  virtual void restore(const ClassState& state, std::size_t features) = 0;  // into a new panel; throws std::invalid_argument
};

// Up to `most_dense` classes, an owner of records has them for all classes at once, in order. The result does not depend on it.
std::unique_ptr<ClassCore> plain_classes(const Roster& roster, std::size_t most_dense = most_active);
#ifdef MISTAKEBOUND_LEVELS
std::unique_ptr<ClassCore> avx2_classes(const Roster& roster, std::size_t most_dense = most_active);
#endif

}  // namespace mistakebound::panel
