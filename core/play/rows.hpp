// The rows of a batch, one after the other: sparse rows as they are, or without stored zeros and with repeated indices summed.
//
// A game is what plays the rows (Play). It has settings(), large(): whether prefetching pays, and widen(width).
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "play/example.hpp"
#include "play/repeats.hpp"
#include "play/sum.hpp"

namespace mistakebound {

struct Settings {
  double threshold = 0;
  bool strict = false;                   // predict positive if score > threshold, instead of >=
  double update_margin = 0;              // > 0: also update when y·score <= update_margin
  double bias = 0;                       // value of the constant feature, 0 = none
  bool named = false;                    // features have names; slot 0 then stands for every feature without an id so far
  std::size_t width = 0;                 // features have indices: their number
  bool growing = false;                  // features have indices: a larger index increases `width` in its round
  bool avx2 = cpu_has_avx2();
  // Of a panel: a bit for each of its own members that plays, the number of members from outside, and of threads.
  std::uint32_t members = 0xffff;
  std::size_t joined = 0, threads = 1;
  bool shared = false;  // whether rows are read for the panels of several labels
};

template <class Index, class Value>
struct Csr {
  const std::int64_t* indptr;
  std::int64_t rows;
  const Index* index;
  const Value* value;
  std::int64_t nonzeros;
};

template <class Value>
struct Dense {
  const Value* value;
  std::int64_t rows, width;
};

inline constexpr std::size_t widest = (std::size_t{1} << 31) - 2;  // index that a growing width may reach

template <class Index, class Value>
bool repeats_unsorted(const Row<Index, Value>& x) {
  const Index* const index = x.index;
  return has_repeated(
      x.size, [index](std::size_t k) { return static_cast<std::uint32_t>(index[k]); },
      [index](std::size_t a, std::size_t b) { return index[a] == index[b]; });
}
template <class Index, class Value>
bool repeats(const Row<Index, Value>& x, [[maybe_unused]] bool avx2) {
#ifdef MISTAKEBOUND_X86
  if constexpr (std::is_same_v<Index, std::int32_t>)
    if (avx2) return !increasing_avx2(x.index, x.size) && repeats_unsorted(x);
#endif
  return !increasing(x.index, x.size) && repeats_unsorted(x);
}

// Visit a row with an index out of range, stored zeros or repeated indices. An index out of range is a fault, unless the
// width grows. Stored zeros are left out, and the values of repeated indices are summed, as in a dense row.
template <bool Learning, class Game, class Index, class Value, class Visit>
Fault visit_irregular(Game& game, const Row<Index, Value>& x, std::size_t& at, bool& of_sum, Visit visit) {
  using Unsigned = std::make_unsigned_t<Index>;
  std::vector<Index> index, summed;
  std::vector<double> value;
  std::vector<std::size_t> place;
  for (at = 0; at < x.size; ++at) {
    const auto i = static_cast<std::size_t>(static_cast<Unsigned>(x.index[at]));
    if (i >= game.settings().width && !(game.settings().growing && i < widest)) return Fault::index;
    if (x.value[at] == 0) continue;
    index.push_back(x.index[at]);
    value.push_back(static_cast<double>(x.value[at]));
    place.push_back(at);
  }
  const std::size_t size = sum_repeated(
      0, value.size(), [&](std::size_t k) { return static_cast<std::uint32_t>(index[k]); },
      [&](std::size_t a, std::size_t b) { return index[a] == index[b]; },
      [&](std::size_t first, std::size_t k) {
        summed.push_back(index[k]);
        return value[first] += value[k];
      },
      [&](std::size_t k) { return value[k]; },
      [&](std::size_t from, std::size_t to) {
        index[to] = index[from];
        value[to] = value[from];
        place[to] = place[from];
      });
  std::size_t width = game.settings().width;
  for (std::size_t k = 0; k < size; ++k) width = std::max(width, static_cast<std::size_t>(index[k]) + 1);
  if (Learning) game.widen(width);
  at = 0;
  Row<Index, double> row{index.data(), value.data(), size};
  row.beyond = width - game.settings().width;
  const Fault fault = visit(row);
  if (fault == Fault::none || at >= size) return fault;
  of_sum = std::find(summed.begin(), summed.end(), index[at]) != summed.end();
  at = place[at];
  return fault;
}

// Prefetch the rows that follow. The prefetcher of the processor stops at each page, and starts late.
template <class Index, class Value>
[[gnu::always_inline]] inline void fetch_stream(const Row<Index, Value>& x) {
  constexpr std::size_t line = 64, ahead = 1024;
  const auto fetch = [&](const void* from, std::size_t bytes) __attribute__((always_inline)) {
    const auto start = reinterpret_cast<std::uintptr_t>(from) + ahead * sizeof(Value);
    for (std::size_t at = 0; at < bytes; at += line) __builtin_prefetch(reinterpret_cast<const void*>(start + at));
  };
  fetch(x.index, x.size * sizeof(Index));
  fetch(x.value, x.size * sizeof(Value));
}

template <bool Learning, class Game, class Index, class Value, class Visit>
Stop each_row(Game& game, const Csr<Index, Value>& batch, Visit visit) {
  for (std::int64_t r = 0; r < batch.rows; ++r) {
    const std::int64_t begin = batch.indptr[r], end = batch.indptr[r + 1];
    if (begin < 0 || end < begin || end > batch.nonzeros) return {r, Fault::malformed};
    const bool ahead = game.large() && batch.nonzeros - end >= static_cast<std::int64_t>(look_ahead);
    const Row<Index, Value> x{batch.index + begin, batch.value + begin, static_cast<std::size_t>(end - begin), 0, ahead};
    fetch_stream(x);
    std::size_t at = 0;
    bool of_sum = false;
    Fault fault = repeats(x, game.settings().avx2) ? Fault::irregular : visit(x, r, at);
    if (fault == Fault::irregular) [[unlikely]]
      fault = visit_irregular<Learning>(game, x, at, of_sum, [&](const auto& nonzeros) { return visit(nonzeros, r, at); });
    if (fault != Fault::none) return {r, fault, begin + static_cast<std::int64_t>(at), of_sum};
  }
  return {batch.rows};
}

// Visit dense rows as sparse rows of their non-zeros, in column order.
template <bool Learning, class Game, class Value, class Visit>
Stop each_row(Game&, const Dense<Value>& batch, Visit visit) {
  std::vector<std::int32_t> index(static_cast<std::size_t>(batch.width));
  std::vector<Value> value(static_cast<std::size_t>(batch.width));
  for (std::int64_t r = 0; r < batch.rows; ++r) {
    const Value* row = batch.value + r * batch.width;
    std::size_t size = 0;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(batch.width); ++i) {
      index[size] = i;
      value[size] = row[i];
      size += row[i] != 0 ? 1 : 0;
    }
    const Row<std::int32_t, Value> x{index.data(), value.data(), size};
    std::size_t at = 0;
    if (const Fault fault = visit(x, r, at); fault != Fault::none) {
      const std::int64_t column = at < size ? index[at] : 0;
      return {r, fault, r * batch.width + column};
    }
  }
  return {batch.rows};
}

}  // namespace mistakebound
