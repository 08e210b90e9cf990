// The interface of panels of several labels that learn from the same rows. Their views are computed once for all labels.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "panel/block.hpp"
#include "panel/core.hpp"
#include "panel/used_slots.hpp"

namespace mistakebound::panel {

// The panel of one label.
class LabelPanel {
 public:
  virtual void reserve(std::size_t features) = 0;
  virtual void resize(std::size_t features) = 0;
  virtual void play_shared(Block& block, const SlotsOfRows& slots) = 0;

 protected:
  LabelPanel() = default;
  ~LabelPanel() = default;
};

// The panels of the labels of a batch, and the labels (+1 or -1) of its rows: all of the first panel, then of the second, and so on.
struct LabelledBatch {
  LabelPanel* const* panels = nullptr;
  std::size_t count = 0;
  const std::int8_t* labels = nullptr;
  std::size_t rows = 0;
};

// Plays rows for all labels: first many rows for one label, then the same rows for the next, because the tables of all labels do not fit
// into the cache. It has no members and no combiner of its own: the panels of the labels predict.
class SharedCore : public Core {
 public:
  virtual ViewsCore& views() = 0;
  // The panels and labels of the rows that follow. With `two_threads`, each thread plays some of the labels.
  virtual void begin(const LabelledBatch& batch, bool two_threads) = 0;
  virtual void finish() = 0;  // play the rows that wait
  virtual void end() noexcept = 0;
};

std::unique_ptr<SharedCore> plain_shared();
#ifdef MISTAKEBOUND_LEVELS
std::unique_ptr<SharedCore> avx2_shared();
#endif

}  // namespace mistakebound::panel
