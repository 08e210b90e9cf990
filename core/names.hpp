// Exact ids for names: an open-addressing table over an arena of UTF-8 bytes. No two names ever share an id.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "table.hpp"

namespace mistakebound {

// A name as numbers. Up to 16 bytes they are the name itself: `first` and `last` are its first and last eight bytes, which
// may overlap. Of a longer name they say most, and the rest is compared.
struct Key {
  std::uint64_t first = 0, last = 0;
  std::uint32_t hash = 0, size = 0;

  Key() = default;
  // No byte outside of the name is read, and no call of memcpy remains.
  [[gnu::always_inline]] explicit Key(std::string_view name) : size(static_cast<std::uint32_t>(name.size())) {
    const char* const p = name.data();
    std::uint64_t h = 0x9E3779B97F4A7C15ULL ^ size;
    if (size >= 8) {
      first = word<std::uint64_t>(p);
      last = word<std::uint64_t>(p + size - 8);
      for (std::size_t at = 8; at + 8 < size; at += 8) h = mix(h, word<std::uint64_t>(p + at));
    } else if (size >= 4) {
      first = word<std::uint32_t>(p) | std::uint64_t{word<std::uint32_t>(p + size - 4)} << 32;
    } else if (size > 0) {
      const auto byte = [p](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(p[i])); };
      first = byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16;
    }
    h = mix(mix(h, first), last);
    hash = static_cast<std::uint32_t>(h ^ (h >> 32));
  }
  bool is_whole() const { return size <= 16; }

 private:
  template <class Word>
  static Word word(const char* p) {
    Word w;
    std::memcpy(&w, p, sizeof w);
    return w;
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
      slot = {key, static_cast<std::uint32_t>(size())};
    }
    return slot.used - 1;
  }

 private:
  // 32 bytes: most names are found without looking anywhere else.
  struct Slot {
    Key key;
    std::uint32_t used;  // id + 1; 0 is empty
  };

  [[gnu::always_inline]] std::size_t locate(std::string_view wanted, const Key& key) const {
    const Slot* const slots = slots_.data();
    for (std::size_t at = key.hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots[at];
      if (slot.used == 0) return at;
      if (slot.key.first == key.first && slot.key.last == key.last && slot.key.size == key.size &&
          (key.is_whole() || (slot.key.hash == key.hash && name(slot.used - 1) == wanted)))
        return at;
    }
  }

  void grow() {
    Table<Slot> larger;
    larger.resize(2 * slots_.size());
    const std::size_t mask = larger.size() - 1;
    for (std::size_t old = 0; old < slots_.size(); ++old) {
      const Slot& slot = slots_.data()[old];
      if (slot.used == 0) continue;
      std::size_t at = slot.key.hash & mask;
      while (larger.data()[at].used != 0) at = (at + 1) & mask;
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
