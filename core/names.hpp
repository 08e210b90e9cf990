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
  std::size_t size() const { return end_.size(); }

  std::string_view name(std::size_t id) const {
    const std::size_t begin = id == 0 ? 0 : end_[id - 1];
    return {arena_.data() + begin, end_[id] - begin};
  }

  // id + 1 of each of many names, 0 for one that has none: all are hashed, and their slots asked for, before the first is
  // compared. `hashes` is scratch.
  void find_all(const std::string_view* names, std::size_t count, std::uint32_t* hashes, std::int32_t* found) const {
    const Slot* const slots = slots_.data();
    const std::size_t mask = mask_;
    for (std::size_t k = 0; k < count; ++k) {
      hashes[k] = hash(names[k]);
      __builtin_prefetch(slots + (hashes[k] & mask));
    }
    for (std::size_t k = 0; k < count; ++k)
      found[k] = static_cast<std::int32_t>(slots[locate(names[k], hashes[k])].used);
  }

  // The id of the name, given now if it has none yet.
  std::size_t insert(std::string_view name) {
    if (2 * (size() + 1) > slots_.size()) grow();
    if (end_.size() == end_.capacity()) end_.reserve(2 * end_.size() + 16);  // now, so that nothing fails half-way
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

  // Words of eight bytes, the last one overlapping; shorter names are read as one word. No call of memcpy remains.
  [[gnu::always_inline]] static std::uint32_t hash(std::string_view name) {
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
    // Both halves of the product: in the low half alone the last letters of a name would reach only the high bits.
    const auto product = static_cast<unsigned __int128>(h ^ w) * 0xD6E8FEB86659FD93ULL;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  static bool same(std::string_view a, std::string_view b) {
    const std::size_t size = a.size();
    if (size != b.size()) return false;
    const auto ends_agree = [&]<class Word>(Word) {
      return word<Word>(a.data()) == word<Word>(b.data()) &&
             word<Word>(a.data() + size - sizeof(Word)) == word<Word>(b.data() + size - sizeof(Word));
    };
    if (size >= 8 && size <= 16) return ends_agree(std::uint64_t{});
    if (size >= 4 && size < 8) return ends_agree(std::uint32_t{});
    return std::memcmp(a.data(), b.data(), size) == 0;
  }

  [[gnu::always_inline]] std::size_t locate(std::string_view wanted, std::uint32_t h) const {
    for (std::size_t at = h & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.used == 0) return at;
      if (slot.hash == h && same(name(slot.used - 1), wanted)) return at;
    }
  }

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.used == 0) continue;
      std::size_t at = slot.hash & mask_;
      while (slots_[at].used != 0) at = (at + 1) & mask_;
      slots_[at] = slot;
    }
  }

  std::string arena_;
  std::vector<std::uint64_t> end_;
  std::vector<Slot> slots_ = std::vector<Slot>(64);
  std::size_t mask_ = 63;
};

}  // namespace mistakebound
