// Parse numbers exactly, and short numbers fast.
#pragma once
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>

namespace mistakebound {

// m·10^e is correctly rounded in float64 for m below 2^53 and |e| up to 22, because both factors are exact.
inline constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                           1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline constexpr std::uint64_t whole_powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// from_chars reports both 1e999 and 1e-999 as out of range. Return true only for the first.
inline bool overflows(std::string_view number) {
  const std::size_t e = number.find_first_of("eE");
  const std::string_view digits = number.substr(0, e);
  const std::size_t point = std::min(digits.find('.'), digits.size()), first = digits.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  std::int64_t exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view written = number.substr(e + 1);
    if (written.starts_with('+')) written.remove_prefix(1);
    const auto read = std::from_chars(written.data(), written.data() + written.size(), exponent);
    if (read.ec != std::errc()) return !written.starts_with('-');  // too long for an integer of 64 bits
  }
  const auto before_point = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  return exponent > -before_point;
}

// Parse the longest number at p, and return its end, or p if there is none. It may begin with '+'. "inf" and "nan" are parsed
// as numbers, so that the caller can report them as not finite.
inline const char* read_number_slowly(const char* p, const char* end, double& number) {
  const char* from = p < end && *p == '+' && p + 1 < end && p[1] != '-' ? p + 1 : p;
  const auto [after, error] = std::from_chars(from, end, number);
  if (error == std::errc::invalid_argument) return p;
  if (error == std::errc::result_out_of_range) {  // infinity if it is too large, 0 if it is too small, like strtod
    number = overflows({from, static_cast<std::size_t>(after - from)}) ? std::numeric_limits<double>::infinity() : 0.0;
    if (*from == '-') number = -number;
  }
  return after;
}

inline const char* read_number(const char* p, const char* end, double& number) {
  const char* q = p;
  const bool negative = q < end && *q == '-';
  q += negative ? 1 : 0;
  std::uint64_t m = 0;
  const char* const digits = q;
  while (q < end && is_digit(*q)) m = 10 * m + static_cast<std::uint64_t>(*q++ - '0');
  const auto whole = q - digits;
  std::ptrdiff_t fraction = 0;
  if (q < end && *q == '.') {
    const char* const point = ++q;
    while (q < end && is_digit(*q)) m = 10 * m + static_cast<std::uint64_t>(*q++ - '0');
    fraction = q - point;
  }
  // 18 digits cannot overflow m; anything unusual is left to from_chars.
  if (whole + fraction == 0 || whole + fraction > 18 || m >= (std::uint64_t{1} << 53) ||
      (q < end && ((*q | 0x20) == 'e' || *q == '.')))
    return read_number_slowly(p, end, number);
  const double value = static_cast<double>(m) / powers_of_ten[fraction];
  number = negative ? -value : value;
  return q;
}

// Up to eight digits at once. The first character is in the lowest byte (little-endian).
struct Digits {
  std::uint64_t text;  // each byte minus '0'
  int count;           // number of digits before the first other character, 0 to 8

  explicit Digits(const char* p) {
    std::memcpy(&text, p, sizeof text);
    text ^= 0x3030303030303030ULL;
    // The top bit of each byte that is above 9. A carry changes only bytes after the first such one.
    const std::uint64_t other = ((text + 0x7676767676767676ULL) | text) & 0x8080808080808080ULL;
    count = other == 0 ? 8 : std::countr_zero(other) / 8;
  }
  std::uint64_t value() const {  // value of the first `count` digits; `count` must be at least 1
    std::uint64_t v = text << (64 - 8 * count);  // missing digits are leading zeros
    v = 10 * v + (v >> 8);                       // pairs, then pairs of pairs, then both halves
    return ((v & 0x000000FF000000FFULL) * 0x000F424000000064ULL +
            ((v >> 16) & 0x000000FF000000FFULL) * 0x0000271000000001ULL) >> 32;
  }
};
inline constexpr std::ptrdiff_t readable = 32;  // number of bytes after p that the fast functions may read
inline constexpr bool little_endian = std::endian::native == std::endian::little;

// The same as read_number, for p with `readable` bytes after it. Fast for up to 7 digits before and 16 after the point.
inline const char* read_number_quickly(const char* p, const char* end, double& number) {
  const bool negative = *p == '-';
  const char* q = p + (negative ? 1 : 0);
  const Digits whole(q);
  if (whole.count == 0 || whole.count == 8) return read_number(p, end, number);
  std::uint64_t m = whole.value();
  q += whole.count;
  int fraction = 0;
  if (*q == '.') {
    const Digits first(++q);
    if (first.count > 0) m = m * whole_powers[first.count] + first.value();
    fraction = first.count;
    if (first.count == 8) {
      const Digits second(q + 8);
      if (second.count == 8 || m >= 100000000) return read_number(p, end, number);
      if (second.count > 0) m = m * whole_powers[second.count] + second.value();
      fraction += second.count;
    }
    q += fraction;
  }
  if ((*q | 0x20) == 'e' || m >= (std::uint64_t{1} << 53)) return read_number(p, end, number);
  const double value = static_cast<double>(m) / powers_of_ten[fraction];
  number = negative ? -value : value;
  return q;
}

// Whether the whole text is one number.
inline bool is_number(std::string_view text, double& number) {
  const char* const end = text.data() + text.size();
  return !text.empty() && read_number(text.data(), end, number) == end;
}

}  // namespace mistakebound
