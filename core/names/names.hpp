// Ids for names: a hash table with open addressing over an arena of UTF-8 bytes. Different names have different ids.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "memory/table.hpp"
#include "play/sum.hpp"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace mistakebound {

// A name as numbers. For a name of up to 11 bytes they are its bytes and its length. For a longer name they are two hashes, and
// the names must be compared, too.
struct Key {
  std::uint64_t low = 0;
  std::uint32_t high = 0;
  std::uint32_t hash = 0;

  Key() = default;
  Key(std::uint64_t low_bits, std::uint32_t high_bits) : low(low_bits), high(high_bits) {
    const std::uint64_t mixed = mix(low, 0x9E3779B97F4A7C15ULL + high);
    hash = static_cast<std::uint32_t>(mixed ^ (mixed >> 32));
  }
  // Reads no byte outside of the name, and compiles without calls of memcpy.
  [[gnu::always_inline]] explicit Key(std::string_view name) : Key(low_of(name), high_of(name)) {}
#ifdef __SSE2__
  // The same for a name at p where 16 bytes can be read. It has no branch on the length, which would be mispredicted.
  [[gnu::always_inline]] static Key of_text(const char* p, std::size_t size) {
    if (size > longest) [[unlikely]]
      return Key({p, size});
    const __m128i bytes = _mm_and_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)),
                                        _mm_loadu_si128(reinterpret_cast<const __m128i*>(ones_and_zeros + 16 - size)));
    const auto rest = static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_unpackhi_epi64(bytes, bytes)));
    return {static_cast<std::uint64_t>(_mm_cvtsi128_si64(bytes)), rest | static_cast<std::uint32_t>(size + 1) << 24};
  }
#endif
  bool operator==(const Key&) const = default;
  bool is_name() const { return high >> 24 != longer; }
  // The name. Only valid if is_name().
  std::string_view name() const { return {reinterpret_cast<const char*>(this), (high >> 24) - 1}; }

 private:
  static_assert(std::endian::native == std::endian::little, "the letters lie one after the other in low and high");
  static constexpr std::size_t longest = 11;
  static constexpr std::uint32_t longer = 255;  // stored instead of length + 1 for a name of more than 11 bytes
  static constexpr std::uint8_t ones_and_zeros[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                      255, 255, 255, 255, 255, 255, 255, 255};

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
    const auto byte = [p](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(p[i])} << (8 * i); };
    return size == 0 ? 0 : byte(0) | byte(size / 2) | byte(size - 1);
  }
  [[gnu::always_inline]] static std::uint32_t high_of(std::string_view name) {
    const std::size_t size = name.size();
    if (size > longest)
      return longer << 24 | (static_cast<std::uint32_t>(hash_of(name, 0xBF58476D1CE4E5B9ULL)) & 0xFFFFFF);
    const auto length = static_cast<std::uint32_t>(size + 1) << 24;  // not 0, which means an empty slot
    if (size <= 8) return length;
    return length | static_cast<std::uint32_t>(word<std::uint64_t>(name.data() + size - 8) >> (64 - 8 * (size - 8)));
  }
  static std::uint64_t hash_of(std::string_view name, std::uint64_t h) {
    h ^= name.size();
    for (std::size_t at = 0; at + 8 < name.size(); at += 8) h = mix(h, word<std::uint64_t>(name.data() + at));
    return mix(h, word<std::uint64_t>(name.data() + name.size() - 8));
  }
  static std::uint64_t mix(std::uint64_t h, std::uint64_t w) {
    // Both halves of the product are used: in the low half the last bytes of a name change only the high bits.
    const auto product = static_cast<unsigned __int128>(h ^ w) * 0xD6E8FEB86659FD93ULL;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
};

class Names {
 public:
  Names() { lines_.resize(16); }

  std::size_t size() const { return end_.size(); }

  std::string_view name(std::size_t id) const {
    const std::size_t begin = id == 0 ? 0 : end_[id - 1];
    return {arena_.data() + begin, end_[id] - begin};
  }

  // Prefetch the line that a later `find` will read. Always inlined (see fetch in play/sum.hpp).
  [[gnu::always_inline]] void fetch(const Key& key) const { __builtin_prefetch(lines_.data() + (key.hash & mask_)); }

  // Return id + 1, or 0 if the name has no id. `name_wanted()` is called only if the key is a hash. `Avx2` may be true only if
  // the caller is compiled for AVX2.
  template <bool Avx2 = false, class Name>
  [[gnu::always_inline]] std::int32_t find(const Key& key, Name name_wanted) const {
    for (std::size_t at = key.hash & mask_;; at = (at + 1) & mask_) {
      const Line& line = lines_.data()[at];
      for (unsigned same = Avx2 ? line.same_avx2(key) : line.same(key); same != 0; same &= same - 1) {
        const std::uint32_t used = line.used[std::countr_zero(same)];
        if (key.is_name() || name(used - 1) == name_wanted()) [[likely]]
          return static_cast<std::int32_t>(used);
      }
      if (!line.full()) [[likely]]
        return 0;
    }
  }

  // Find many names. All lines are prefetched before the first one is read.
  void find_all(const std::string_view* names, std::size_t count, Key* keys, std::int32_t* found) const {
    for (std::size_t k = 0; k < count; ++k) {
      keys[k] = Key(names[k]);
      fetch(keys[k]);
    }
    for (std::size_t k = 0; k < count; ++k) found[k] = find(keys[k], [&] { return names[k]; });
  }

  // Return the id of the name. A new name gets the next id.
  std::size_t insert(std::string_view name) { return insert(name, Key(name)); }
  std::size_t insert(const std::string_view& name, const Key& key) {
    if (const std::int32_t found = find(key, [&] { return name; }); found != 0) return static_cast<std::size_t>(found) - 1;
    if (2 * (size() + 1) > Line::count * lines_.size()) grow();
    if (end_.size() == end_.capacity()) end_.reserve(2 * end_.size() + 16);  // before any change, because it may throw
    arena_.append(key.is_name() ? key.name() : name);
    end_.push_back(arena_.size());
    put(lines_, mask_, key.low, key.high, static_cast<std::uint32_t>(size()));
    return size() - 1;
  }

 private:
  // Four slots in one cache line, filled from the first on. A name of up to 11 bytes is found without reading other memory.
  struct Line {
    static constexpr unsigned count = 4;
    std::uint64_t low[count];
    std::uint32_t high[count];
    std::uint32_t used[count];  // id + 1; 0 is empty
    bool full() const { return used[count - 1] != 0; }

    // A bit for each slot with this key. All four are compared without a branch, which would be mispredicted.
    [[gnu::always_inline]] unsigned same(const Key& key) const {
#ifdef __SSE2__
      const __m128i wanted = _mm_set1_epi64x(static_cast<long long>(key.low));
      const auto halves = [&](const std::uint64_t* two) {
        return _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(two)), wanted));
      };
      const __m128 first = halves(low), second = halves(low + 2);
      const __m128 rest = _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(high)),
                                                           _mm_set1_epi32(static_cast<int>(key.high))));
      const __m128 lower = _mm_shuffle_ps(first, second, 0x88), upper = _mm_shuffle_ps(first, second, 0xDD);
      return static_cast<unsigned>(_mm_movemask_ps(_mm_and_ps(_mm_and_ps(lower, upper), rest)));
#else
      unsigned found = 0;
      for (unsigned k = 0; k < count; ++k) found |= (low[k] == key.low && high[k] == key.high ? 1U : 0U) << k;
      return found;
#endif
    }
#ifdef MISTAKEBOUND_X86
    MISTAKEBOUND_AVX2 unsigned same_avx2(const Key& key) const {
      const __m256i lower = _mm256_cmpeq_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(low)),
                                               _mm256_set1_epi64x(static_cast<long long>(key.low)));
      const __m128i rest = _mm_cmpeq_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(high)),
                                           _mm_set1_epi32(static_cast<int>(key.high)));
      return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(lower)) & _mm_movemask_ps(_mm_castsi128_ps(rest)));
    }
#else
    unsigned same_avx2(const Key& key) const { return same(key); }
#endif
  };

  static void put(Table<Line>& lines, std::size_t mask, std::uint64_t low, std::uint32_t high, std::uint32_t used) {
    std::size_t at = Key(low, high).hash & mask;
    while (lines.data()[at].full()) at = (at + 1) & mask;
    Line& line = lines.data()[at];
    unsigned k = 0;
    while (line.used[k] != 0) ++k;
    line.low[k] = low;
    line.high[k] = high;
    line.used[k] = used;
  }

  void grow() {
    Table<Line> larger;
    larger.resize(2 * lines_.size());
    const std::size_t mask = larger.size() - 1;
    for (std::size_t at = 0; at < lines_.size(); ++at) {
      const Line& line = lines_.data()[at];
      for (unsigned k = 0; k < Line::count && line.used[k] != 0; ++k) put(larger, mask, line.low[k], line.high[k], line.used[k]);
    }
    lines_.swap(larger);
    mask_ = mask;
  }

  std::string arena_;
  std::vector<std::uint64_t> end_;
  Table<Line> lines_;
  std::size_t mask_ = 15;
};

}  // namespace mistakebound
