// A parsed chunk as bytes, and back: what a binary cache is made of. Reading it back copies no number; all that the bytes
// say of sizes is checked before it is used, for a file may be damaged.
//
//   checksum, then numbers of 8 bytes (see `Head`), then arrays, each beginning at a multiple of 8 bytes
#pragma once
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "reading.hpp"

namespace mistakebound::cache {

struct Head {
  std::uint64_t named, consumed, lines, rows, nonzeros, width, weighted, labels, bad;
};

// Four words in turn, so that none waits for the one before. `bytes` is a multiple of 8.
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
    const std::uint64_t told = *array<std::uint64_t>(1);
    if (told != checksum(rest_.data(), rest_.size())) damaged();
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
  [[noreturn]] static void damaged() { throw std::invalid_argument("the cache is damaged: delete it, and it is made anew"); }

 private:
  std::string_view rest_;
};

inline std::string pack(const Parsed& parsed) {
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
  const std::vector<double> ones(chunk.value.empty() ? chunk.features() : 0, 1.0);
  out.array(chunk.value.empty() ? ones.data() : chunk.value.data(), chunk.features());
  out.array(chunk.label_ids.data(), chunk.label_ids.size());
  for (const std::string_view label : chunk.labels) out.text(label);
  for (const std::string_view label : chunk.other_labels) out.text(label);
  for (std::size_t k = 0; k < parsed.bad.size(); ++k) {
    const std::int64_t where[] = {parsed.bad_row[k], parsed.bad[k].line, parsed.bad[k].column};
    out.array(where, 3);
    out.text(parsed.bad[k].what);
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

// What `pack` gave; `parsed` must keep the bytes alive.
inline void unpack(std::string_view bytes, Parsed& parsed) {
  Source in(bytes);
  const Head head = *in.array<Head>(1);
  Chunk& chunk = parsed.chunk;
  const auto rows = static_cast<std::size_t>(head.rows);
  if (head.rows >= bytes.size() || head.width > (std::uint64_t{1} << 31)) Source::damaged();
  parsed.named = head.named != 0;
  parsed.consumed = static_cast<std::size_t>(head.consumed);
  parsed.lines = static_cast<std::int64_t>(head.lines);
  chunk.largest_index = static_cast<std::int32_t>(static_cast<std::int64_t>(head.width) - 1);
  chunk.indptr.borrow(in.array<std::int64_t>(head.rows + 1), rows + 1);
  chunk.line.borrow(in.array<std::int64_t>(head.rows), rows);
  chunk.value.borrow(in.array<double>(head.nonzeros), static_cast<std::size_t>(head.nonzeros));
  chunk.label_ids.assign(in.array<char>(head.rows), rows);
  if (head.labels > Chunk::other || chunk.indptr[0] != 0 || chunk.indptr[rows] != static_cast<std::int64_t>(head.nonzeros))
    Source::damaged();
  for (std::size_t r = 0; r < rows; ++r)
    if (chunk.indptr[r] > chunk.indptr[r + 1]) Source::damaged();
  for (std::uint64_t k = 0; k < head.labels; ++k) chunk.labels.push_back(in.text());
  const auto others = std::count(chunk.label_ids.begin(), chunk.label_ids.end(), static_cast<char>(Chunk::other));
  for (std::ptrdiff_t k = 0; k < others; ++k) chunk.other_labels.push_back(in.text());
  for (std::uint64_t k = 0; k < head.bad; ++k) {
    const std::int64_t* const where = in.array<std::int64_t>(3);
    parsed.bad_row.push_back(where[0]);
    parsed.bad.push_back({where[1], where[2], std::string(in.text())});
  }
  if (parsed.named) {
    const std::uint32_t* const sizes = in.array<std::uint32_t>(head.nonzeros);
    std::string_view names = in.text();
    for (std::uint64_t k = 0; k < head.nonzeros; ++k) {
      if (sizes[k] > names.size()) Source::damaged();
      chunk.name.push_back(names.substr(0, sizes[k]));
      names.remove_prefix(sizes[k]);
    }
    chunk.prepare();
  } else {
    chunk.index.borrow(in.array<std::int32_t>(head.nonzeros), static_cast<std::size_t>(head.nonzeros));
  }
  in.end();
  parsed.weighted = head.weighted != 0;
}

}  // namespace mistakebound::cache
