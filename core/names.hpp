// Exact ids for names: an open-addressing table over an arena of UTF-8 bytes. No two names ever share an id.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "table.hpp"

namespace mistakebound {

// A name as numbers. Up to 11 bytes they are the name itself, with its length; of a longer one they are two hashes, and
// the name must still be compared.
struct Key {
  std::uint64_t low = 0;
  std::uint32_t high = 0;
  std::uint32_t hash = 0;

  Key() = default;
  Key(std::uint64_t its_low, std::uint32_t its_high) : low(its_low), high(its_high) {
    const std::uint64_t mixed = mix(low, 0x9E3779B97F4A7C15ULL + high);
    hash = static_cast<std::uint32_t>(mixed ^ (mixed >> 32));
  }
  // No byte outside of the name is read, and no call of memcpy remains.
  [[gnu::always_inline]] explicit Key(std::string_view name) : Key(low_of(name), high_of(name)) {}
  bool is_name() const { return high >> 24 != longer; }

 private:
  static constexpr std::size_t longest = 11;
  static constexpr std::uint32_t longer = 255;  // instead of the length

  template <class Word>
  static Word word(const char* p) {
    Word w;
    std::memcpy(&w, p, sizeof w);
    return w;
  }
  [[gnu::always_inline]] static std::uint64_t low_of(std::string_view name) {
    const char* const p = name.data();
    const std::size_t size = name.size();
    if (size > longest) return hash_of(name, 0x9E3779B97F4A7C15ULL);
    if (size >= 8) return word<std::uint64_t>(p);
    if (size >= 4) {
      const std::uint64_t last = word<std::uint32_t>(p + size - 4);
      return word<std::uint32_t>(p) | (last >> (8 * (8 - size))) << 32;
    }
    const auto byte = [p](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(p[i])); };
    return size == 0 ? 0 : byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16;
  }
  [[gnu::always_inline]] static std::uint32_t high_of(std::string_view name) {
    const std::size_t size = name.size();
    if (size > longest)
      return longer << 24 | (static_cast<std::uint32_t>(hash_of(name, 0xBF58476D1CE4E5B9ULL)) & 0xFFFFFF);
    const auto length = static_cast<std::uint32_t>(size) << 24;
    if (size <= 8) return length;
    return length | static_cast<std::uint32_t>(word<std::uint64_t>(name.data() + size - 8) >> (64 - 8 * (size - 8)));
  }
  static std::uint64_t hash_of(std::string_view name, std::uint64_t h) {
    h ^= name.size();
    for (std::size_t at = 0; at + 8 < name.size(); at += 8) h = mix(h, word<std::uint64_t>(name.data() + at));
    return mix(h, word<std::uint64_t>(name.data() + name.size() - 8));
  }
  static std::uint64_t mix(std::uint64_t h, std::uint64_t w) {
    // Both halves of the product: in the low half alone the last letters of a name would reach only the high bits.
    const auto product = static_cast<unsigned __int128>(h ^ w) * 0xD6E8FEB86659FD93ULL;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
};

class Names {
 public:
  Names() { slots_.resize(64); }

  std::size_t size() const { return end_.size(); }

  std::string_view name(std::size_t id) const {
    const std::size_t begin = id == 0 ? 0 : end_[id - 1];
    return {arena_.data() + begin, end_[id] - begin};
  }

  // Asks the memory for the slot that a later `find` will look at.
  void fetch(const Key& key) const { __builtin_prefetch(slots_.data() + (key.hash & mask_)); }

  // id + 1, or 0 for a name that has none.
  [[gnu::always_inline]] std::int32_t find(std::string_view name, const Key& key) const {
    return static_cast<std::int32_t>(slots_.data()[locate(name, key)].used);
  }

  // The same for many names at once; all slots are asked for before the first is looked at.
  void find_all(const std::string_view* names, std::size_t count, Key* keys, std::int32_t* found) const {
    for (std::size_t k = 0; k < count; ++k) {
      keys[k] = Key(names[k]);
      fetch(keys[k]);
    }
    for (std::size_t k = 0; k < count; ++k) found[k] = find(names[k], keys[k]);
  }

  // The id of the name, given now if it has none yet.
  std::size_t insert(std::string_view name) {
    if (2 * (size() + 1) > slots_.size()) grow();
    if (end_.size() == end_.capacity()) end_.reserve(2 * end_.size() + 16);  // now, so that nothing fails half-way
    const Key key(name);
    Slot& slot = slots_.data()[locate(name, key)];
    if (slot.used == 0) {
      arena_.append(name);
      end_.push_back(arena_.size());
      slot = {key.low, key.high, static_cast<std::uint32_t>(size())};
    }
    return slot.used - 1;
  }

 private:
  // Four to a line of the cache. A name of up to 11 bytes is found without looking anywhere else.
  struct Slot {
    std::uint64_t low;
    std::uint32_t high, used;  // used: id + 1; 0 is empty
  };
  static constexpr std::size_t line = 4;

  [[gnu::always_inline]] std::size_t locate(std::string_view wanted, const Key& key) const {
    const Slot* const slots = slots_.data();
    for (std::size_t at = key.hash & mask_, tries = 0;; at = next(at, tries++) & mask_) {
      const Slot& slot = slots[at];
      if (slot.used == 0) return at;
      if (slot.low == key.low && slot.high == key.high && (key.is_name() || name(slot.used - 1) == wanted)) return at;
    }
  }

  // First the other slots of the same line, which is there already; then those of the next one.
  static std::size_t next(std::size_t at, std::size_t tries) {
    const std::size_t turned = (at & ~(line - 1)) | ((at + 1) & (line - 1));
    return tries % line == line - 1 ? turned + line : turned;
  }

  void grow() {
    Table<Slot> larger;
    larger.resize(2 * slots_.size());
    const std::size_t mask = larger.size() - 1;
    for (std::size_t old = 0; old < slots_.size(); ++old) {
      const Slot& slot = slots_.data()[old];
      if (slot.used == 0) continue;
      std::size_t at = Key(slot.low, slot.high).hash & mask;
      for (std::size_t tries = 0; larger.data()[at].used != 0;) at = next(at, tries++) & mask;
      larger.data()[at] = slot;
    }
    slots_.swap(larger);
    mask_ = mask;
  }

  std::string arena_;
  std::vector<std::uint64_t> end_;
  Table<Slot> slots_;
  std::size_t mask_ = 63;
};

}  // namespace mistakebound
