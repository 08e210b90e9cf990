// Shared parts of the parsers of formats with named features: records, numbers, and a row without repeated names.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "play/example.hpp"
#include "read/chunk.hpp"
#include "read/numbers.hpp"
#include "read/utf8.hpp"

namespace mistakebound::formats {

inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// A record without its newline and, in the first line of a file, without the byte order mark.
inline std::string_view bare_record(std::string_view record, std::int64_t line) {
  if (record.ends_with('\n')) record.remove_suffix(1);
  if (record.ends_with('\r')) record.remove_suffix(1);
  if (line == 1 && record.starts_with(byte_order_mark)) record.remove_prefix(byte_order_mark.size());
  return record;
}

// A name in quotes, for messages. (It uses append, because gcc 12 has a wrong warning about literal + temporary string.)
inline std::string quoted(std::string_view name) { return std::string(1, '\'').append(name).append("'"); }

enum class Kind { number, not_finite, other };

// Whether all of the text is a number, after an optional '+'.
inline Kind read_number(std::string_view text, double& value) {
  if (!is_number(text, value)) return Kind::other;
  return std::isfinite(value) ? Kind::number : Kind::not_finite;
}

// Whether a text is the weight of a row.
inline bool read_weight(std::string_view text, double& weight) { return read_number(text, weight) == Kind::number && is_weight(weight); }
inline std::string not_a_weight(std::string_view text) {
  return "the weight must be a number from 0 to 1e9, got " + quoted(text.substr(0, 40));
}

// A hash table of the names of one row. It is reused for all rows of a thread, because clearing it takes constant time.
class SeenNames {
 public:
  void clear(std::size_t first) {
    first_ = first;
    count_ = 0;
    if (++stamp_ == 0) {
      slots_.assign(slots_.size(), Slot{});
      stamp_ = 1;
    }
  }

  // Return the field of an earlier feature with this name. If there is none, add the name, which must be the next one of the
  // chunk, and return `none`.
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t find_or_add(const Buffer<std::string_view>& names, std::string_view name, std::uint32_t field) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    const auto hash = static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].stamp == stamp_; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].hash == hash && names[first_ + slots_[at].position] == name) return slots_[at].field;
    slots_[at] = {stamp_, hash, static_cast<std::uint32_t>(names.size() - first_), field};
    ++count_;
    return none;
  }

 private:
  struct Slot {
    std::uint32_t stamp = 0, hash = 0, position = 0, field = 0;
  };

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.stamp != stamp_) continue;
      std::size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].stamp == stamp_) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);
  std::size_t first_ = 0, count_ = 0;
  std::uint32_t stamp_ = 0;
};

// The row that is being written to a chunk.
class Row {
 public:
  // Without `check`, the caller must not call `add` with the same name twice. Words of texts are always checked.
  Row(Chunk& chunk, bool check) : chunk_(chunk), seen_(scratch()), check_(check) {
    if (check_) seen_.clear(chunk_.name.size());
  }

  double weight = 1;

  Chunk& chunk() { return chunk_; }
  Arena& arena() { return chunk_.arena; }
  std::size_t size() const { return chunk_.name.size(); }

  // Add a feature. Return false if the row already has the name.
  bool add(std::string_view name, double value) {
    if (check_ && seen_.find_or_add(chunk_.name, name, not_text_) != SeenNames::none) return false;
    push(name, value);
    return true;
  }

  // Add a word of a text. A word that occurs several times in the text counts once. Return false if the row has the name from
  // another field.
  void begin_text() {
    ++text_;
    if (!check_) seen_.clear(chunk_.name.size());
  }
  bool add_word(std::string_view name) {
    const std::uint32_t before = seen_.find_or_add(chunk_.name, name, text_);
    if (before == SeenNames::none) push(name, 1);
    return before == SeenNames::none || before == text_;
  }

 private:
  static SeenNames& scratch() {
    static thread_local SeenNames seen;
    return seen;
  }
  void push(std::string_view name, double value) {
    chunk_.name.push_back(name);
    chunk_.value.push_back(value);
  }

  static constexpr std::uint32_t not_text_ = 0;
  Chunk& chunk_;
  SeenNames& seen_;
  std::uint32_t text_ = not_text_;
  bool check_;
};

}  // namespace mistakebound::formats
