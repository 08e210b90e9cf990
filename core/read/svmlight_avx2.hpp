// Lines of svmlight as files mostly have them, by AVX2: "label index:value index:value ...", one space between. Anything
// else, and whatever may be wrong, is left to svmlight.hpp, which gives the same numbers.
//
// First the places of all separators in a window of text, 64 bytes at a time, so that no number waits for the end of the
// one before. Then, of each index:value, the digits of both numbers are shuffled to the right ends of two times 8 (or 16)
// bytes, where three multiplications add them up.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "chunk.hpp"
#include "numbers.hpp"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define MISTAKEBOUND_QUICK_SVMLIGHT 1
#include <immintrin.h>

namespace mistakebound::quick {

#define MISTAKEBOUND_QUICK __attribute__((target("avx2,bmi,popcnt")))

inline constexpr std::size_t lane = 16;              // bytes that one shuffle moves
inline constexpr std::size_t most_digits = 15;       // below 2^53, so that the quotient by a power of ten rounds once
inline constexpr std::size_t most_index_digits = 9;  // below 2^31
inline constexpr std::size_t window = 4096;

// Places of spaces, colons and all control characters in `text`, whose length is a multiple of 64. Returns their number.
MISTAKEBOUND_QUICK inline std::size_t find_separators(const char* text, std::size_t size, std::uint16_t* place) {
  const __m256i space = _mm256_set1_epi8(' '), colon = _mm256_set1_epi8(':');
  std::uint16_t* out = place;
  for (std::size_t at = 0; at < size; at += 64) {
    std::uint64_t found = 0;
    for (std::size_t half = 0; half < 64; half += 32) {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + at + half));
      const __m256i separates = _mm256_or_si256(_mm256_cmpeq_epi8(_mm256_min_epu8(bytes, space), bytes),
                                                _mm256_cmpeq_epi8(bytes, colon));
      found |= std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(separates))} << half;
    }
    // Twelve at once, wanted or not: a loop whose end nobody can foresee would cost more.
    const int count = std::popcount(found);
#pragma GCC unroll 12
    for (int k = 0; k < 12; ++k, found &= found - 1) out[k] = static_cast<std::uint16_t>(at + _tzcnt_u64(found));
    if (count > 12) [[unlikely]]
      for (int k = 12; k < count; ++k, found &= found - 1) out[k] = static_cast<std::uint16_t>(at + _tzcnt_u64(found));
    out += count;
  }
  return static_cast<std::size_t>(out - place);
}

// How to move the digits of a number to the right end of 8 or 16 bytes; 0x80 makes a zero.
struct alignas(2 * lane) Move {
  std::array<std::uint8_t, lane> from{};
  double power = 1;  // of ten: what the digits are to be divided by
};
// Of a number of `length` characters whose point is at `whole` (none if whole == length). One of more digits than there is
// room for, or of none, moves the character after it, which is no digit and is noticed.
constexpr Move move_of(std::size_t whole, std::size_t length, std::size_t first, std::size_t room) {
  Move it;
  it.from.fill(0x80);
  const bool pointed = whole < length;
  const std::size_t digits = length - (pointed ? 1 : 0);
  if (digits == 0 || digits > room) {
    it.from[first] = static_cast<std::uint8_t>(length);
    return it;
  }
  std::size_t to = first + room;
  for (std::size_t at = length; at-- > 0;)
    if (at != whole) it.from[--to] = static_cast<std::uint8_t>(at);
  it.power = powers_of_ten[pointed ? length - whole - 1 : 0];
  return it;
}
// [whole * lane + length]
template <std::size_t First, std::size_t Room>
inline constexpr auto moves = [] {
  std::array<Move, (lane + 1) * lane> table{};
  for (std::size_t whole = 0; whole <= lane; ++whole)
    for (std::size_t length = 0; length < lane; ++length) table[whole * lane + length] = move_of(whole, length, First, Room);
  return table;
}();

MISTAKEBOUND_QUICK inline __m128i moved(const char* text, const Move& move) {
  const __m128i digits = _mm_sub_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(text)), _mm_set1_epi8('0'));
  return _mm_shuffle_epi8(digits, _mm_load_si128(reinterpret_cast<const __m128i*>(move.from.data())));
}
// Two numbers of eight digits each, the first one in the lower half. What is not a digit is added to `others`.
MISTAKEBOUND_QUICK inline std::uint64_t summed(__m128i digits, __m128i& others) {
  const __m128i nine = _mm_set1_epi8(9);
  others = _mm_or_si128(others, _mm_subs_epu8(digits, nine));
  const __m128i fours = _mm_madd_epi16(_mm_maddubs_epi16(digits, _mm_set1_epi16(0x010A)), _mm_set1_epi32(0x00010064));
  const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x00012710));
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights));
}
MISTAKEBOUND_QUICK inline std::uint64_t all_sixteen(std::uint64_t halves) {
  return (halves & 0xFFFFFFFFU) * 100000000U + (halves >> 32);
}

// A label of one or two digits, with a sign or without: where it ends, or null.
inline const char* after_label(const char* p) {
  p += *p == '+' || *p == '-' ? 1 : 0;
  if (!is_digit(*p++)) return nullptr;
  return p + (is_digit(*p) ? 1 : 0);
}

// index:value, from `begin` to `colon` to `stop`. False if it is not of the usual shape; so it is, too, if any bit is
// set in `others` afterwards, which is looked at once a line.
MISTAKEBOUND_QUICK inline bool read_pair(const char* begin, const char* colon, const char* stop, std::uint32_t& index,
                                         double& value, __m128i& others) {
  const std::uint64_t negative = colon[1] == '-' ? 1 : 0;
  const char* const number = colon + 1 + negative;
  const auto digits = static_cast<std::size_t>(colon - begin), length = static_cast<std::size_t>(stop - number);
  if (*colon != ':' || digits - 1 >= most_index_digits || length - 1 >= lane - 1) [[unlikely]]
    return false;
  const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(number));
  const auto points = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8('.'))));
  const std::size_t place = _tzcnt_u32(points | std::uint32_t{1} << length) * lane + length;
  double size;
  if (digits <= 8 && length <= 9) [[likely]] {
    const Move& move = moves<8, 8>[place];
    const std::uint64_t both = summed(_mm_or_si128(moved(begin, moves<0, 8>[digits * (lane + 1)]), moved(number, move)), others);
    index = static_cast<std::uint32_t>(both);
    size = static_cast<double>(static_cast<std::int64_t>(both >> 32)) / move.power;
  } else {
    const Move& move = moves<lane - most_digits, most_digits>[place];
    index = static_cast<std::uint32_t>(all_sixteen(summed(moved(begin, moves<0, lane>[digits * (lane + 1)]), others)));
    size = static_cast<double>(static_cast<std::int64_t>(all_sixteen(summed(moved(number, move), others)))) / move.power;
  }
  value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) | negative << 63);
  return true;
}

// As many whole lines from p on as are of the usual shape; returns where the first other one begins. `chunk` has room for
// all features that can lie between p and `end`; `line` is the number of the first line, and then of that other one.
MISTAKEBOUND_QUICK inline const char* svmlight_lines(const char* p, const char* end, std::int64_t& line,
                                                     std::uint32_t first_index, Chunk& chunk) {
  constexpr std::ptrdiff_t looks_ahead = 32;
  constexpr auto widest = std::uint32_t{1} << 30;
  std::uint16_t place[window + 12];
  std::int32_t* index = chunk.index.end();
  double* value = chunk.value.end();
  const char *row = p, *token = p;  // where the line and the next index:value begin
  std::string_view label;
  std::uint32_t largest = 0;
  bool in_row = false;
  __m128i others = _mm_setzero_si128();
  for (const char* text = p; end - text >= 64 + looks_ahead;) {
    const auto size = std::min(window, static_cast<std::size_t>(end - text - looks_ahead) / 64 * 64);
    const std::size_t count = find_separators(text, size, place);
    std::size_t k = 0;
    while (k < count) {
      if (!in_row) {
        const char* const stop = text + place[k];
        if (after_label(row) != stop || (*stop != ' ' && *stop != '\n')) return row;
        label = {row, static_cast<std::size_t>(stop - row)};
        largest = 0;
        token = stop + 1;
        in_row = *stop == ' ';
        ++k;
      }
      for (; in_row && k + 1 < count; k += 2) {
        const char *const colon = text + place[k], *const stop = text + place[k + 1];
        std::uint32_t its_index;
        if (!read_pair(token, colon, stop, its_index, *value, others)) [[unlikely]]
          break;
        its_index -= first_index;  // below 0 is beyond the widest, too
        largest = its_index > largest ? its_index : largest;
        *index++ = static_cast<std::int32_t>(its_index);
        ++value;
        token = stop + 1;
        if (*stop != ' ') [[unlikely]] {
          if (*stop != '\n') return row;
          in_row = false;
        }
      }
      if (in_row && k < count && token == text + place[k] && *token == '\n') {  // a space at the end of the line
        ++token;
        ++k;
        in_row = false;
      }
      if (in_row && k + 1 < count) return row;
      if (in_row) break;  // the window ends within the line
      if (largest > widest || _mm_testz_si128(others, others) == 0) [[unlikely]]
        return row;
      const auto features = static_cast<std::size_t>(index - chunk.index.data());
      if (features > chunk.index.size()) chunk.largest_index = std::max(chunk.largest_index, static_cast<std::int32_t>(largest));
      chunk.index.resize(features);
      chunk.value.resize(features);
      chunk.end_row(label, line++);
      row = token;
    }
    const char* const next = in_row ? token : row;
    if (next == text) return row;  // a word longer than the window
    text = next;
  }
  return row;
}

}  // namespace mistakebound::quick
#endif
