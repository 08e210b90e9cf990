// Exact ids for names: an open-addressing table over an arena of UTF-8 bytes. No two names ever share an id.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace mistakebound {

class Names {
 public:
  static constexpr std::int64_t unknown = -1;

  std::size_t size() const { return end_.size(); }

  std::string_view name(std::size_t id) const {
    const std::size_t begin = id == 0 ? 0 : end_[id - 1];
    return {arena_.data() + begin, end_[id] - begin};
  }

  // Ids of many names at once: all their slots are asked for before the first is needed.
  template <class Take>
  void find_all(const std::vector<std::string_view>& names, Take take) const {
    const std::size_t count = names.size();
    if (hashes_.size() < count) hashes_.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
      hashes_[k] = hash(names[k]);
      if (!slots_.empty()) __builtin_prefetch(&slots_[hashes_[k] & (slots_.size() - 1)]);
    }
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint32_t used = slots_.empty() ? 0 : slots_[locate(names[k], hashes_[k])].used;
      take(used == 0 ? unknown : static_cast<std::int64_t>(used) - 1);
    }
  }

  // The id of the name, given now if it has none yet.
  std::size_t insert(std::string_view name) {
    if (2 * (size() + 1) > slots_.size()) grow();
    const std::uint32_t h = hash(name);
    Slot& slot = slots_[locate(name, h)];
    if (slot.used == 0) {
      slot = {h, static_cast<std::uint32_t>(size() + 1), arena_.size(), static_cast<std::uint32_t>(name.size())};
      arena_.append(name);
      end_.push_back(arena_.size());
    }
    return slot.used - 1;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t used = 0;  // id + 1; 0 is empty
    std::uint64_t begin = 0; // of the name in the arena: beside the hash, so that a look-up touches two lines
    std::uint32_t length = 0;
  };

  // Words of eight bytes, the last one overlapping; shorter names are read as one word. No call of memcpy remains.
  static std::uint32_t hash(std::string_view name) {
    const char* p = name.data();
    const std::size_t size = name.size();
    std::uint64_t h = 0x9E3779B97F4A7C15ULL ^ size;
    if (size >= 8) {
      for (std::size_t at = 0; at + 8 < size; at += 8) h = mix(h, word<std::uint64_t>(p + at));
      h = mix(h, word<std::uint64_t>(p + size - 8));
    } else if (size >= 4) {
      h = mix(h, word<std::uint32_t>(p) | std::uint64_t{word<std::uint32_t>(p + size - 4)} << 32);
    } else if (size > 0) {
      const auto byte = [p](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(p[i])); };
      h = mix(h, byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16);
    }
    return static_cast<std::uint32_t>(h ^ (h >> 32));
  }
  template <class Word>
  static Word word(const char* p) {
    Word w;
    std::memcpy(&w, p, sizeof w);
    return w;
  }
  static std::uint64_t mix(std::uint64_t h, std::uint64_t w) {
    h = (h ^ w) * 0xD6E8FEB86659FD93ULL;
    return h ^ (h >> 29);
  }
  static bool same(const char* a, const char* b, std::size_t size) {
    if (size < 8 || size > 16) return std::memcmp(a, b, size) == 0;
    return word<std::uint64_t>(a) == word<std::uint64_t>(b) &&
           word<std::uint64_t>(a + size - 8) == word<std::uint64_t>(b + size - 8);
  }

  std::size_t locate(std::string_view wanted, std::uint32_t h) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = h & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.used == 0) return at;
      if (slot.hash == h && slot.length == wanted.size() &&
          same(arena_.data() + slot.begin, wanted.data(), wanted.size()))
        return at;
    }
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    const std::size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.used == 0) continue;
      std::size_t at = slot.hash & mask;
      while (slots_[at].used != 0) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }

  std::string arena_;
  std::vector<std::uint64_t> end_;
  std::vector<Slot> slots_;
  mutable std::vector<std::uint32_t> hashes_;  // scratch of find_all
};

}  // namespace mistakebound
