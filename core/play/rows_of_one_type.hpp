// A batch of any type as rows of int32 and float64, which are copied, one at a time, if they have another type. The loop of a
// rule that reads it is compiled once instead of six times. The copy takes little time beside a step with roots and divisions.
#pragma once
#include <cstdint>
#include <type_traits>
#include <vector>

#include "play/example.hpp"
#include "play/rows.hpp"

namespace mistakebound {

class RowsOfOneType {
 public:
  template <class Index, class Value>
  explicit RowsOfOneType(const Csr<Index, Value>& batch) : rows(batch.rows), batch_(&batch), read_(from_csr<Index, Value>) {}
  template <class Value>
  explicit RowsOfOneType(const Dense<Value>& batch)
      : rows(batch.rows), batch_(&batch), read_(from_dense<Value>), index_(static_cast<std::size_t>(batch.width)),
        value_(static_cast<std::size_t>(batch.width)), dense_(true) {}

  std::int64_t rows;

  // Read a row, which is valid until the next one is read. Return false if the batch is malformed there.
  bool read(std::int64_t r, Row<std::int32_t, double>& x) { return read_(*this, r, x); }
  // The position in the batch of non-zero `at` of this row.
  std::int64_t position(const Row<std::int32_t, double>& x, std::size_t at) const {
    if (!dense_) return begin_ + static_cast<std::int64_t>(at);
    return begin_ + (at < x.size ? x.index[at] : 0);
  }

 private:
  template <class Index, class Value>
  static bool from_csr(RowsOfOneType& self, std::int64_t r, Row<std::int32_t, double>& x) {
    const auto& batch = *static_cast<const Csr<Index, Value>*>(self.batch_);
    const std::int64_t begin = batch.indptr[r], end = batch.indptr[r + 1];
    if (begin < 0 || end < begin || end > batch.nonzeros) return false;
    const auto size = static_cast<std::size_t>(end - begin);
    self.begin_ = begin;
    x = {converted(batch.index + begin, size, self.index_), converted(batch.value + begin, size, self.value_), size};
    // Indices that are not copied are followed by those of the next rows.
    x.ahead = std::is_same_v<Index, std::int32_t> && batch.nonzeros - end >= static_cast<std::int64_t>(look_ahead);
    return true;
  }
  template <class Value>
  static bool from_dense(RowsOfOneType& self, std::int64_t r, Row<std::int32_t, double>& x) {
    const auto& batch = *static_cast<const Dense<Value>*>(self.batch_);
    self.begin_ = r * batch.width;
    const Value* const row = batch.value + self.begin_;
    std::int32_t* const index = self.index_.data();
    double* const value = self.value_.data();
    std::size_t size = 0;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(batch.width); ++i) {
      index[size] = i;
      value[size] = static_cast<double>(row[i]);
      size += row[i] != 0 ? 1 : 0;
    }
    x = {index, value, size};
    return true;
  }

  // An index that does not fit into int32 becomes -1, which is out of range, too.
  static std::int32_t as_index(std::int64_t i) { return i >= 0 && i <= std::int64_t{widest} ? static_cast<std::int32_t>(i) : -1; }
  template <class From, class To>
  static const To* converted(const From* from, std::size_t size, std::vector<To>& copy) {
    if constexpr (std::is_same_v<From, To>) {
      return from;
    } else {
      if (copy.size() < size) copy.resize(size);
      for (std::size_t k = 0; k < size; ++k) {
        if constexpr (std::is_integral_v<From>)
          copy[k] = as_index(from[k]);
        else
          copy[k] = static_cast<To>(from[k]);
      }
      return copy.data();
    }
  }

  const void* batch_;
  bool (*read_)(RowsOfOneType&, std::int64_t, Row<std::int32_t, double>&);
  std::vector<std::int32_t> index_;
  std::vector<double> value_;
  std::int64_t begin_ = 0;
  bool dense_ = false;
};

template <bool Learning, class Game, class Visit>
Stop each_row(Game& game, RowsOfOneType& batch, Visit visit) {
  Row<std::int32_t, double> x{};
  for (std::int64_t r = 0; r < batch.rows; ++r) {
    if (!batch.read(r, x)) return {r, Fault::malformed};
    x.ahead = x.ahead && game.large();
    std::size_t at = 0;
    bool of_sum = false;
    Fault fault = repeats(x, game.settings().avx2) ? Fault::irregular : visit(x, r, at);
    if (fault == Fault::irregular) [[unlikely]]
      fault = visit_irregular<Learning>(game, x, at, of_sum, [&](const auto& nonzeros) { return visit(nonzeros, r, at); });
    if (fault != Fault::none) return {r, fault, batch.position(x, at), of_sum};
  }
  return {batch.rows};
}

}  // namespace mistakebound
