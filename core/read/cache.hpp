// Convert a parsed chunk to bytes of a cache file, and back. Unpacking does not copy numbers. It checks that a parser could have
// written the chunk, because a file may be damaged or forged.
//
// The bytes are a checksum, then numbers of 8 bytes (see `Head`), then arrays, each of which begins at a multiple of 8 bytes.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "play/example.hpp"
#include "read/chunk.hpp"
#include "read/utf8.hpp"

namespace mistakebound::cache {

struct Head {
  std::uint64_t named, consumed, lines, rows, nonzeros, width, weighted, labels, bad;
};

// A checksum with four independent sums, which the processor can compute at the same time. `size` must be a multiple of 8.
inline std::uint64_t checksum(const char* bytes, std::size_t size) {
  std::uint64_t sum[4] = {0x9E3779B97F4A7C15ULL, 0xBF58476D1CE4E5B9ULL, 0x94D049BB133111EBULL, size};
  const auto add = [&](std::size_t lane, std::size_t at) {
    std::uint64_t word;
    std::memcpy(&word, bytes + at, sizeof word);
    sum[lane] = (sum[lane] ^ word) * 0xD6E8FEB86659FD93ULL;
    sum[lane] ^= sum[lane] >> 32;
  };
  std::size_t at = 0;
  for (; at + 32 <= size; at += 32)
    for (std::size_t lane = 0; lane < 4; ++lane) add(lane, at + 8 * lane);
  for (; at + 8 <= size; at += 8) add(0, at);
  return (sum[0] * 3 + sum[1]) * 5 + (sum[2] * 7 ^ sum[3]);
}

class Writer {
 public:
  Writer() : bytes_(sizeof(std::uint64_t), '\0') {}
  template <class T>
  void array(const T* items, std::size_t count) {
    if (count > 0) bytes_.append(reinterpret_cast<const char*>(items), count * sizeof(T));
    bytes_.resize((bytes_.size() + 7) / 8 * 8, '\0');
  }
  void text(std::string_view it) {
    const std::uint64_t size = it.size();
    array(&size, 1);
    array(it.data(), it.size());
  }
  std::string done() {
    const std::uint64_t sum = checksum(bytes_.data() + sizeof(std::uint64_t), bytes_.size() - sizeof(std::uint64_t));
    std::memcpy(bytes_.data(), &sum, sizeof sum);
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

class Source {
 public:
  explicit Source(std::string_view bytes) : rest_(bytes) {
    if (bytes.size() % 8 != 0 || reinterpret_cast<std::uintptr_t>(bytes.data()) % 8 != 0) damaged();
    const std::uint64_t stored = *array<std::uint64_t>(1);
    if (stored != checksum(rest_.data(), rest_.size())) damaged();
  }
  template <class T>
  const T* array(std::uint64_t count) {
    if (count > rest_.size() / sizeof(T)) damaged();
    const auto* const items = reinterpret_cast<const T*>(rest_.data());
    rest_.remove_prefix((static_cast<std::size_t>(count) * sizeof(T) + 7) / 8 * 8);
    return items;
  }
  std::string_view text() {
    const std::uint64_t size = *array<std::uint64_t>(1);
    return {array<char>(size), static_cast<std::size_t>(size)};
  }
  void end() const {
    if (!rest_.empty()) damaged();
  }
  [[noreturn]] static void damaged() {
    throw std::invalid_argument("the cache is damaged: delete it; the next run writes it again");
  }

 private:
  std::string_view rest_;
};

// `Parsed` is the class of reader.hpp, or that of the fuzzer.
template <class Parsed>
std::string pack(const Parsed& parsed) {
  const Chunk& chunk = parsed.chunk;
  const Head head{parsed.named,           parsed.consumed,
                  static_cast<std::uint64_t>(parsed.lines), chunk.rows(),
                  chunk.features(),       static_cast<std::uint64_t>(std::int64_t{chunk.largest_index} + 1),
                  parsed.weighted,        chunk.labels.size(),
                  parsed.bad.size()};
  Writer out;
  out.array(&head, 1);
  out.array(chunk.indptr.data(), chunk.indptr.size());
  out.array(chunk.line.data(), chunk.line.size());
  if (parsed.weighted) {
    const std::vector<double> weights = chunk.weights();
    out.array(weights.data(), weights.size());
  }
  const std::vector<double> ones(chunk.value.empty() ? chunk.features() : 0, 1.0);
  out.array(chunk.value.empty() ? ones.data() : chunk.value.data(), chunk.features());
  out.array(chunk.label_ids.data(), chunk.label_ids.size());
  for (const std::string_view label : chunk.labels) out.text(label);
  for (const std::string_view label : chunk.other_labels) out.text(label);
  for (std::size_t k = 0; k < parsed.bad.size(); ++k) {
    const Bad& bad = parsed.bad[k];
    const std::int64_t numbers[] = {parsed.bad_row[k], bad.line, bad.column, static_cast<std::int64_t>(bad.kind)};
    out.array(numbers, 4);
    out.text(bad.what);
    out.text(bad.feature);
    out.text(bad.value);
  }
  if (parsed.named) {
    std::string names;
    std::vector<std::uint32_t> sizes;
    for (std::size_t k = 0; k < chunk.features(); ++k) {
      const std::string_view name = chunk.name_of(k);
      names += name;
      sizes.push_back(static_cast<std::uint32_t>(name.size()));
    }
    out.array(sizes.data(), sizes.size());
    out.text(names);
  } else {
    out.array(chunk.index.data(), chunk.index.size());
  }
  return out.done();
}

// Whether the numbers do not decrease and lie from `low` to `high`.
inline bool in_order(const std::int64_t* items, std::size_t count, std::int64_t low, std::int64_t high) {
  for (std::size_t k = 0; k < count; ++k) {
    if (items[k] < low) return false;
    low = items[k];
  }
  return count == 0 || low <= high;
}

// Split a text into pieces of these sizes. Pieces of valid UTF-8 that begin at a character are valid UTF-8.
inline void split(std::string_view text, const std::uint32_t* sizes, std::size_t count, Buffer<std::string_view>& to) {
  if (!formats::is_utf8(text)) Source::damaged();
  for (std::size_t k = 0; k < count; ++k) {
    if (sizes[k] > text.size()) Source::damaged();
    if (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0u) == 0x80u) Source::damaged();
    to.push_back(text.substr(0, sizes[k]));
    text.remove_prefix(sizes[k]);
  }
  if (!text.empty()) Source::damaged();
}

// The inverse of `pack`. `parsed` must keep the bytes alive.
template <class Parsed>
void unpack(std::string_view bytes, Parsed& parsed) {
  constexpr std::uint64_t most = std::uint64_t{1} << 62;  // limit of bytes and lines: a sum of two does not overflow
  const auto need = [](bool holds) {
    if (!holds) Source::damaged();
  };
  Source in(bytes);
  const Head head = *in.array<Head>(1);
  Chunk& chunk = parsed.chunk;
  need(head.named <= 1 && head.weighted <= 1 && head.consumed < most && head.lines < most);
  need(head.rows < bytes.size() && head.labels <= Chunk::other && head.width <= std::uint64_t{1} << 31);
  const auto rows = static_cast<std::size_t>(head.rows), nonzeros = static_cast<std::size_t>(head.nonzeros);
  const auto lines = static_cast<std::int64_t>(head.lines);
  parsed.named = head.named != 0;
  parsed.weighted = head.weighted != 0;
  parsed.consumed = static_cast<std::size_t>(head.consumed);
  parsed.lines = lines;
  chunk.largest_index = static_cast<std::int32_t>(static_cast<std::int64_t>(head.width) - 1);
  chunk.indptr.borrow(in.array<std::int64_t>(head.rows + 1), rows + 1);
  chunk.line.borrow(in.array<std::int64_t>(head.rows), rows);
  if (parsed.weighted) {
    const double* const weights = in.array<double>(head.rows);
    for (std::size_t r = 0; r < rows; ++r) {
      need(is_weight(weights[r]));
      if (weights[r] != 1) chunk.remarks.push_back({r, weights[r], {}});
    }
    need(!chunk.remarks.empty());
  }
  chunk.value.borrow(in.array<double>(head.nonzeros), nonzeros);
  chunk.label_ids.assign(in.array<char>(head.rows), rows);
  need(chunk.indptr[0] == 0 && chunk.indptr[rows] == static_cast<std::int64_t>(nonzeros));
  need(in_order(chunk.indptr.data(), rows + 1, 0, static_cast<std::int64_t>(nonzeros)));
  need(in_order(chunk.line.data(), rows, 1, lines));
  bool finite = true, zeros = false;
  for (const double value : chunk.value) {
    finite &= std::abs(value) <= std::numeric_limits<double>::max();
    zeros |= value == 0;
  }
  need(finite && !(zeros && parsed.named));  // parsers leave out named features with the value 0

  for (std::uint64_t k = 0; k < head.labels; ++k) {
    chunk.labels.push_back(in.text());
    need(std::find(chunk.labels.begin(), chunk.labels.end() - 1, chunk.labels.back()) == chunk.labels.end() - 1);
  }
  std::size_t others = 0;
  for (const char each : chunk.label_ids) {
    const auto id = static_cast<unsigned char>(each);
    need(id < head.labels || (id == Chunk::other && head.labels == Chunk::other));
    others += id == Chunk::other ? 1 : 0;
  }
  for (std::size_t k = 0; k < others; ++k) chunk.other_labels.push_back(in.text());

  std::int64_t row = 0, line = 1;  // row and line of the previous bad record
  for (std::uint64_t k = 0; k < head.bad; ++k) {
    const std::int64_t* const where = in.array<std::int64_t>(4);
    need(where[0] >= row && where[0] <= static_cast<std::int64_t>(rows) && where[1] >= line && where[1] <= lines && where[2] >= 0);
    need(where[3] >= 0 && where[3] <= static_cast<std::int64_t>(last_bad_kind));
    row = where[0], line = where[1];
    parsed.bad_row.push_back(row);
    Bad& bad = parsed.bad.emplace_back(Bad{line, where[2], static_cast<BadKind>(where[3]), {}, {}, {}});
    for (std::string* const text : {&bad.what, &bad.feature, &bad.value}) *text = in.text();
  }

  if (parsed.named) {
    const std::uint32_t* const sizes = in.array<std::uint32_t>(head.nonzeros);
    split(in.text(), sizes, nonzeros, chunk.name);
    chunk.prepare();
  } else {
    chunk.index.borrow(in.array<std::int32_t>(head.nonzeros), nonzeros);
    bool inside = true;
    for (const std::int32_t index : chunk.index) inside &= index >= 0 && index <= chunk.largest_index;
    need(inside);
  }
  in.end();
}

}  // namespace mistakebound::cache
