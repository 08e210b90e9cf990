// A batch of any type whose rows are copied, one at a time, into rows of int32 and float64. The loop of a rule that reads it is
// compiled once instead of six times. The copy takes little time beside a step with roots and divisions.
#pragma once
#include <cstdint>
#include <type_traits>
#include <vector>

#include "play/example.hpp"
#include "play/rows.hpp"

namespace mistakebound {

class CopiedRows {
 public:
  template <class Index, class Value>
  explicit CopiedRows(const Csr<Index, Value>& batch) : rows(batch.rows), batch_(&batch), copy_(copy_csr<Index, Value>) {}
  template <class Value>
  explicit CopiedRows(const Dense<Value>& batch) : rows(batch.rows), batch_(&batch), copy_(copy_dense<Value>) {}

  struct Copy {
    std::vector<std::int32_t> index;
    std::vector<double> value;
    std::vector<std::int64_t> position;  // of each non-zero, in the batch
    bool malformed = false;
  };
  void copy(std::int64_t r, Copy& to) const {
    to.index.clear();
    to.value.clear();
    to.position.clear();
    copy_(batch_, r, to);
  }

  std::int64_t rows;

 private:
  static void add(Copy& to, std::int64_t index, double value, std::int64_t position) {
    const bool fits = index >= 0 && index <= static_cast<std::int64_t>(widest);
    to.index.push_back(fits ? static_cast<std::int32_t>(index) : -1);  // -1 is out of range, too
    to.value.push_back(value);
    to.position.push_back(position);
  }
  template <class Index, class Value>
  static void copy_csr(const void* from, std::int64_t r, Copy& to) {
    const auto& batch = *static_cast<const Csr<Index, Value>*>(from);
    const std::int64_t begin = batch.indptr[r], end = batch.indptr[r + 1];
    to.malformed = begin < 0 || end < begin || end > batch.nonzeros;
    for (std::int64_t k = begin; k < end && !to.malformed; ++k) add(to, batch.index[k], static_cast<double>(batch.value[k]), k);
  }
  template <class Value>
  static void copy_dense(const void* from, std::int64_t r, Copy& to) {
    const auto& batch = *static_cast<const Dense<Value>*>(from);
    for (std::int64_t k = r * batch.width; k < (r + 1) * batch.width; ++k)
      if (batch.value[k] != 0) add(to, k - r * batch.width, static_cast<double>(batch.value[k]), k);
  }

  const void* batch_;
  void (*copy_)(const void*, std::int64_t, Copy&);
};

template <bool Learning, class Game, class Visit>
Stop each_row(Game& game, const CopiedRows& batch, Visit visit) {
  CopiedRows::Copy copy;
  for (std::int64_t r = 0; r < batch.rows; ++r) {
    batch.copy(r, copy);
    if (copy.malformed) return {r, Fault::malformed};
    const Row<std::int32_t, double> x{copy.index.data(), copy.value.data(), copy.index.size()};
    std::size_t at = 0;
    bool of_sum = false;
    Fault fault = repeats(x, game.settings().avx2) ? Fault::irregular : visit(x, r, at);
    if (fault == Fault::irregular) [[unlikely]]
      fault = visit_irregular<Learning>(game, x, at, of_sum, [&](const auto& nonzeros) { return visit(nonzeros, r, at); });
    if (fault != Fault::none) return {r, fault, at < copy.position.size() ? copy.position[at] : -1, of_sum};
  }
  return {batch.rows};
}

}  // namespace mistakebound
