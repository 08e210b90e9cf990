// The interface of the panel, which each SIMD level implements. All levels give the same bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/table.hpp"
#include "panel/block.hpp"
#include "panel/parts.hpp"
#include "panel/roster.hpp"
#include "panel/state.hpp"
#include "panel/used_slots.hpp"

namespace mistakebound::panel {

// Where the numbers of a feature that are read first lie: those of feature i are at first + i·places.
struct Prefetched {
  const float* first;
  std::ptrdiff_t places;
};

// What is kept of a feature for views that several labels share.
struct Seen {
  float scale;         // largest |x| so far
  std::int32_t count;  // rows with it
};
// The views of rows that panels of several labels share, computed once for all of them (shared_views.hpp).
class ViewsCore {
 public:
  virtual ~ViewsCore() = default;
  virtual std::size_t size() const = 0;  // features
  virtual void reserve(std::size_t features) = 0;
  virtual void resize(std::size_t features) = 0;
  virtual Seen& feature(std::ptrdiff_t i) = 0;
  virtual double& rounds() = 0;
  virtual std::shared_ptr<Table<Moments>> moments() const = 0;
  virtual void use_moments(std::shared_ptr<Table<Moments>> moments) = 0;
  // Write the views of rows to them, and their slots to `slots`, and learn what the views of later rows need.
  virtual void look(Rows& rows, SlotsOfRows& slots) = 0;
};

class Core {
 public:
  virtual ~Core() = default;
  virtual std::size_t features() const = 0;
  virtual std::size_t capacity() const = 0;            // features for which there is memory
  virtual void reserve(std::size_t features) = 0;      // only while no block is played
  virtual void resize(std::size_t features) = 0;       // new features start as never seen
  virtual Prefetched prefetched() = 0;
  // Write float64 values as float32 to `to`, then return `regular` of them.
  virtual bool narrowed(const std::int32_t* index, const double* value, std::size_t size, float* to, float& largest) const = 0;
  // Return whether all indices are features and all values can be learned. If so, set `largest` to the largest absolute value.
  virtual bool regular(const std::int32_t* index, const float* value, std::size_t size, float& largest) const = 0;

  // Predict, then learn, all rows of a block.
  virtual void play(Block& block) = 0;
  // The same in three steps. Each step must get the blocks in order. Two threads may do different steps at the same time, if
  // the panel was made for two threads.
  virtual void play_first(Block& block) = 0;  // score and learn by the first and the third group of members
  virtual void play_rest(Block& block) = 0;   // by the others; it extends the table that only they use
  virtual void combine(Block& block) = 0;     // predict from the scores
  // For panels of several labels on the same rows (shared_core.hpp); the memory must be laid out for one thread.
  virtual void copy_to(ViewsCore& views) = 0;  // make these views, which are new, continue those of this panel
  // Use the moments of these views from now on. Rounds and rows that the views have counted, and this panel has not, count as rows
  // without its label. Throws std::invalid_argument if the panel has counted more.
  virtual void share(ViewsCore& views) = 0;
  // Like `play`, for a block whose rows have shared views and use these slots.
  virtual void play_shared(Block& block, const SlotsOfRows& slots) = 0;
  // Predict one row without learning.
  virtual Verdict predict(Block& block, std::size_t row) = 0;
  // The same, and what the parts of the row add to the scores.
  virtual Verdict explain(Block& block, std::size_t row, Parts& to) = 0;
  virtual float scale_of(std::size_t feature) = 0;  // largest |x| so far; 0 for a feature that was never learned

  virtual std::vector<Standing> standings() const = 0;  // of the members that play, and after them of the mixers
  virtual Totals totals() const = 0;
  virtual const Leadership& leadership() const = 0;
  virtual PanelState state() = 0;
  virtual void restore(const PanelState& state, std::size_t features) = 0;  // throws std::invalid_argument
};

// `two_threads`: lay out the memory so that two threads do not write to the same cache line.
std::unique_ptr<Core> plain_panel(const Roster& roster, bool two_threads);
#ifdef MISTAKEBOUND_LEVELS
std::unique_ptr<Core> avx2_panel(const Roster& roster, bool two_threads);
#endif

}  // namespace mistakebound::panel
