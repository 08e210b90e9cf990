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

  std::int64_t find(std::string_view name) const {
    if (slots_.empty()) return unknown;
    const Slot& slot = slots_[locate(name, hash(name))];
    return slot.used == 0 ? unknown : static_cast<std::int64_t>(slot.used) - 1;
  }

  // The id of the name, given now if it has none yet.
  std::size_t insert(std::string_view name) {
    if (2 * (size() + 1) > slots_.size()) grow();
    const std::uint32_t h = hash(name);
    Slot& slot = slots_[locate(name, h)];
    if (slot.used == 0) {
      arena_.append(name);
      end_.push_back(arena_.size());
      slot = {h, static_cast<std::uint32_t>(size())};
    }
    return slot.used - 1;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t used = 0;  // id + 1; 0 is empty
  };

  static std::uint32_t hash(std::string_view name) {
    std::uint64_t h = 0x9E3779B97F4A7C15ULL ^ name.size();
    const char* p = name.data();
    std::size_t left = name.size();
    for (; left >= 8; left -= 8, p += 8) h = mix(h, read(p, 8));
    h = mix(h, read(p, left));
    return static_cast<std::uint32_t>(h ^ (h >> 32));
  }
  static std::uint64_t read(const char* p, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, bytes);
    return word;
  }
  static std::uint64_t mix(std::uint64_t h, std::uint64_t word) {
    h = (h ^ word) * 0xD6E8FEB86659FD93ULL;
    return h ^ (h >> 29);
  }

  std::size_t locate(std::string_view wanted, std::uint32_t h) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = h & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.used == 0 || (slot.hash == h && name(slot.used - 1) == wanted)) return at;
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
};

}  // namespace mistakebound
