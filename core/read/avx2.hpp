// Shared parts of the AVX2 parsers of lines. They find the positions of all separators in a window of text, 64 bytes at a time,
// so that parsing a number need not wait for the end of the previous one. The digits of a number are shuffled to the right end
// of 8 or 16 bytes, where three multiplications add them up. The numbers are the same as those of numbers.hpp.
//
// The code uses intrinsics, not the vectors of experts/lanes.hpp: there is no operator for shuffles by a table, masks of bytes as
// integers, and sums of neighbouring products. Wider registers would not help, because the bits of a mask are used one by one.
#pragma once
#include <array>
#include <bit>
#include <cstdint>

#include "play/sum.hpp"
#include "read/numbers.hpp"

#ifdef MISTAKEBOUND_X86

namespace mistakebound::quick {

#define MISTAKEBOUND_QUICK __attribute__((target("avx2,bmi,popcnt")))

inline constexpr std::size_t lane = 16;              // bytes that one shuffle moves
inline constexpr std::size_t most_digits = 15;       // below 2^53, so that the quotient by a power of ten rounds once
inline constexpr std::size_t window = 4096;

inline constexpr std::ptrdiff_t looks_ahead = 32;  // bytes after a window that may be read

// Find the positions of spaces and control characters and, for VW, of colons and bars in `text`. `size` must be a multiple of
// 64. Return their number and, for VW, whether all bytes are ASCII.
enum class Separators { spaces, of_vw };
template <Separators Which>
MISTAKEBOUND_QUICK inline std::size_t find_separators(const char* text, std::size_t size, std::uint16_t* place,
                                                      [[maybe_unused]] bool* all_ascii = nullptr) {
  constexpr int at_once = Which == Separators::spaces ? 5 : 12;
  const __m256i space = _mm256_set1_epi8(' '), colon = _mm256_set1_epi8(':'), bar = _mm256_set1_epi8('|');
  [[maybe_unused]] __m256i seen = _mm256_setzero_si256();
  std::uint16_t* out = place;
  for (std::size_t at = 0; at < size; at += 64) {
    std::uint64_t found = 0;
    for (std::size_t half = 0; half < 64; half += 32) {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + at + half));
      __m256i separates = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, space), bytes);
      if constexpr (Which == Separators::of_vw) {
        separates = _mm256_or_si256(separates, _mm256_or_si256(_mm256_cmpeq_epi8(bytes, colon), _mm256_cmpeq_epi8(bytes, bar)));
        seen = _mm256_or_si256(seen, bytes);
      }
      found |= std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(separates))} << half;
    }
    // Always store `at_once` positions, also if there are fewer: a loop with an unpredictable end would be slower.
    const int count = std::popcount(found);
#pragma GCC unroll 12
    for (int k = 0; k < at_once; ++k, found &= found - 1) out[k] = static_cast<std::uint16_t>(at + _tzcnt_u64(found));
    if (count > at_once) [[unlikely]]
      for (int k = at_once; k < count; ++k, found &= found - 1) out[k] = static_cast<std::uint16_t>(at + _tzcnt_u64(found));
    out += count;
  }
  if constexpr (Which == Separators::of_vw) *all_ascii = _mm256_movemask_epi8(seen) == 0;
  return static_cast<std::size_t>(out - place);
}

// How to move the digits of a number to the right end of 8 or 16 bytes; 0x80 makes a zero.
struct alignas(2 * lane) Move {
  std::array<std::uint8_t, lane> from{};
  double power = 1;  // the power of ten by which the digits are divided
};
// The Move of a number of `length` characters whose point is at `whole` (no point if whole == length). If it has no digits, or
// more than `room`, the Move selects the character after it, which is not a digit and is detected later.
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
// Table of all moves, by whole * lane + length.
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
// The values of two numbers of eight digits each. The first one is in the lower half.
MISTAKEBOUND_QUICK inline std::uint64_t added(__m128i digits) {
  const __m128i fours = _mm_madd_epi16(_mm_maddubs_epi16(digits, _mm_set1_epi16(0x010A)), _mm_set1_epi32(0x00010064));
  const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x00012710));
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights));
}
// The same. Bits of characters that are not digits are set in `others`.
MISTAKEBOUND_QUICK inline std::uint64_t summed(__m128i digits, __m128i& others) {
  others = _mm_or_si128(others, _mm_subs_epu8(digits, _mm_set1_epi8(9)));
  return added(digits);
}
MISTAKEBOUND_QUICK inline std::uint64_t all_sixteen(std::uint64_t halves) {
  return (halves & 0xFFFFFFFFU) * 100000000U + (halves >> 32);
}

// A number in a text from `from` to `stop`: where its digits begin, and the position of its Move. `look` returns false if it is
// too long.
struct Written {
  const char* digits;
  std::size_t length, place;
  std::uint64_t negative;
};
MISTAKEBOUND_QUICK inline bool look(const char* from, const char* stop, Written& number) {
  number.negative = *from == '-' ? 1 : 0;
  number.digits = from + number.negative;
  number.length = static_cast<std::size_t>(stop - number.digits);
  if (number.length - 1 >= lane - 1) [[unlikely]]
    return false;
  const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(number.digits));
  const auto points = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8('.'))));
  number.place = _tzcnt_u32(points | std::uint32_t{1} << number.length) * lane + number.length;
  return true;
}
inline double with_sign(const Written& number, std::uint64_t digits, const Move& move) {
  const double size = static_cast<double>(static_cast<std::int64_t>(digits)) / move.power;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) | number.negative << 63);
}
// The value of a number of up to 15 digits. If it is malformed, a bit is set in `others`.
MISTAKEBOUND_QUICK inline double value_of(const Written& number, __m128i& others) {
  const Move& move = moves<lane - most_digits, most_digits>[number.place];
  return with_sign(number, all_sixteen(summed(moved(number.digits, move), others)), move);
}

// The end of a label of one or two digits with an optional sign, or null if p has another text.
inline const char* after_label(const char* p) {
  p += *p == '+' || *p == '-' ? 1 : 0;
  if (!is_digit(*p++)) return nullptr;
  return p + (is_digit(*p) ? 1 : 0);
}

}  // namespace mistakebound::quick
#endif
