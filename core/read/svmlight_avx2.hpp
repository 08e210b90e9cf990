// Parse the usual lines of svmlight with AVX2: "label index:value index:value ...", with one space between. All other lines, and
// malformed ones, are left to svmlight.hpp, which gives the same numbers.
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "read/avx2.hpp"
#include "read/chunk.hpp"

#ifdef MISTAKEBOUND_X86
namespace mistakebound::quick {

inline constexpr std::size_t most_index_digits = 9;  // below 2^31

// Parse index:value from `begin` to `stop`. Return false if it is not of the usual form. A bit that is set in `others` also means
// that it is not; the caller checks `others` once a line.
MISTAKEBOUND_QUICK inline bool read_pair(const char* begin, const char* stop, std::uint32_t& index, double& value,
                                         __m128i& others) {
  const __m128i start = _mm_loadu_si128(reinterpret_cast<const __m128i*>(begin));
  const auto colons = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(start, _mm_set1_epi8(':'))));
  const std::size_t digits = _tzcnt_u32(colons);
  Written number;
  if (digits - 1 >= most_index_digits || !look(begin + digits + 1, stop, number)) [[unlikely]]
    return false;
  if (digits <= 8 && number.length <= 9) [[likely]] {  // both numbers at once
    const Move& move = moves<8, 8>[number.place];
    const __m128i both = _mm_or_si128(moved(begin, moves<0, 8>[digits * (lane + 1)]), moved(number.digits, move));
    const std::uint64_t halves = summed(both, others);
    index = static_cast<std::uint32_t>(halves);
    value = with_sign(number, halves >> 32, move);
  } else {
    index = static_cast<std::uint32_t>(all_sixteen(summed(moved(begin, moves<0, lane>[digits * (lane + 1)]), others)));
    value = value_of(number, others);
  }
  return true;
}

// The usual forms of index:value: up to 8 digits of an index, an optional sign, up to 8 digits of a value with an optional point,
// in at most 16 characters. One shuffle moves the digits of both numbers to the bytes where they are added up.
struct alignas(64) Shape {
  std::array<std::uint8_t, lane> digits{}, marks{};  // positions of the digits, and of colon, sign and point
  std::array<std::uint8_t, lane> zeros{};            // the text with all digits replaced by 0
  double divisor = 1;                                // a power of ten with the sign, by which the digits of the value are divided
};
class Shapes {
 public:
  Shapes() : shape_(1) {
    for (std::size_t index = 1; index <= 8; ++index)
      for (std::size_t sign = 0; sign <= 1; ++sign)
        for (std::size_t whole = 1; whole <= 8; ++whole)
          for (std::size_t decimals = 0; whole + decimals <= 8; ++decimals) add(index, sign, whole, decimals);
    for (std::size_t length = 0; length <= lane; ++length) belongs_[length] = ~std::uint32_t{0} << (lane - length);
  }
  // The form of a text of `length` characters. `others` has a bit for each of the last 16 characters that is not a digit. Null if
  // it is not a usual form.
  const Shape* find(std::uint32_t no_digits, std::size_t length) const {
    const std::uint32_t number = number_[(2 * no_digits + 1) & belongs_[length]];
    return number == 0 ? nullptr : &shape_[number];
  }

 private:
  void add(std::size_t index, std::size_t sign, std::size_t whole, std::size_t decimals) {
    const std::size_t point = decimals > 0 ? 1 : 0, length = index + 1 + sign + whole + point + decimals;
    if (length > lane) return;
    Shape it;
    it.digits.fill(0x80);
    it.marks.fill(0x80);
    it.zeros.fill('0');
    const std::size_t begin = lane - length, colon = begin + index, value = colon + 1 + sign;
    std::uint32_t key = std::uint32_t{1} << begin;
    const auto mark = [&](std::size_t number, std::size_t at, char what) {
      it.marks[number] = static_cast<std::uint8_t>(at);
      it.zeros[at] = static_cast<std::uint8_t>(what);
      key |= std::uint32_t{2} << at;
    };
    mark(0, colon, ':');
    if (sign != 0) mark(1, colon + 1, '-');
    if (point != 0) mark(2, value + whole, '.');
    for (std::size_t at = 0; at < index; ++at) it.digits[8 - index + at] = static_cast<std::uint8_t>(begin + at);
    for (std::size_t at = 0; at < whole + decimals; ++at)
      it.digits[lane - whole - decimals + at] = static_cast<std::uint8_t>(value + at + (at < whole ? 0 : point));
    it.divisor = (sign != 0 ? -1 : 1) * powers_of_ten[decimals];
    number_[key] = static_cast<std::uint16_t>(shape_.size());
    shape_.push_back(it);
  }

  std::vector<Shape> shape_;  // element 0 means none
  std::array<std::uint32_t, lane + 1> belongs_{};  // by length: a mask of its characters and the one before them
  // By the characters that are not digits, one bit each. The top bit is the last character, the lowest is the one before the first.
  std::array<std::uint16_t, std::size_t{2} << lane> number_{};
};

// A constant in all bytes, kept in a register. Otherwise the compiler computes it again at each use.
MISTAKEBOUND_QUICK inline __m128i held(int number) {
  __m128i bytes = _mm_set1_epi8(static_cast<char>(number));
  asm("" : "+x"(bytes));
  return bytes;
}

// Parses the pairs of a text in order. For pairs of a usual form, first the digits are added up, and later four values at once are
// divided.
class Pairs {
 public:
  Pairs(Chunk& to, std::uint32_t first_index) : index_(to.index.end()), value_(to.value.end()), first_index_(first_index) {}
  const std::int32_t* end() const { return index_; }
  std::uint32_t largest = 0;  // the largest index of a line

  // Parse pairs of a usual form from `token` on, with at most `longest` characters, that end at the positions k to `count`. A bit is
  // set in `others` if a colon, a sign or a point is another character. Stops after a pair that is not followed by a space.
  MISTAKEBOUND_QUICK std::size_t add(const char* text, const std::uint16_t* place, std::size_t k, std::size_t count,
                                     std::size_t longest, const char*& token, __m128i& others) {
    static const auto shapes = std::make_unique<const Shapes>();
    const __m128i to_lowest = held(128 - '0'), nine = held(-128 + 9);
    const auto at = [](const auto& from) { return _mm_load_si128(reinterpret_cast<const __m128i*>(from.data())); };
    const Shapes& usual = *shapes;
    __m128i no_marks = _mm_setzero_si128();
    const char* begin = token;
    double *value = value_ + pending_, *divisor = divisor_ + pending_;
    while (k < count) {
      const char* const stop = text + place[k];
      const auto length = static_cast<std::size_t>(stop - begin);
      if (length - 1 >= longest) [[unlikely]]  // also if length is 0
        break;
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(stop - lane));
      const __m128i no_digit = _mm_cmpgt_epi8(_mm_add_epi8(bytes, to_lowest), nine);
      const Shape* const shape = usual.find(static_cast<std::uint32_t>(_mm_movemask_epi8(no_digit)), length);
      if (shape == nullptr) [[unlikely]]
        break;
      const __m128i numbers = _mm_xor_si128(bytes, at(shape->zeros));  // the number of each digit, and 0 for each mark
      no_marks = _mm_or_si128(no_marks, _mm_shuffle_epi8(numbers, at(shape->marks)));
      const std::uint64_t sums = added(_mm_shuffle_epi8(numbers, at(shape->digits)));
      *value++ = std::bit_cast<double>(sums);  // the digits of index and value; `finish` divides them later
      *divisor++ = shape->divisor;
      begin = stop + 1;
      ++k;
      if (*stop != ' ') [[unlikely]]
        break;
    }
    pending_ = static_cast<std::size_t>(divisor - divisor_);
    token = begin;
    others = _mm_or_si128(others, no_marks);
    return k;
  }

  // Parse one pair of any form. Returns false in the same cases as read_pair.
  MISTAKEBOUND_QUICK bool add_other(const char* token, const char* stop, __m128i& others) {
    finish();
    std::uint32_t index;
    if (!read_pair(token, stop, index, *value_, others)) return false;
    index -= first_index_;  // a negative result is above `widest`, because it is unsigned
    largest = std::max(largest, index);
    *index_++ = static_cast<std::int32_t>(index);
    ++value_;
    return true;
  }

  MISTAKEBOUND_QUICK void finish() {
    if (pending_ == 0) return;
    for (std::size_t k = pending_; k % 4 != 0; ++k) {  // fill up to a multiple of four; memory for them is reserved
      value_[k] = value_[pending_ - 1];
      divisor_[k] = 1;
    }
    const __m256i apart = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    const __m128i first = _mm_set1_epi32(static_cast<std::int32_t>(first_index_));
    __m128i most = _mm_setzero_si128();
    for (std::size_t k = 0; k < pending_; k += 4) {
      const __m256i sums =
          _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(value_ + k)), apart);
      const __m128i index = _mm_sub_epi32(_mm256_castsi256_si128(sums), first);
      most = _mm_max_epu32(most, index);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(index_ + k), index);
      const __m256d digits = _mm256_cvtepi32_pd(_mm256_extracti128_si256(sums, 1));
      _mm256_storeu_pd(value_ + k, _mm256_div_pd(digits, _mm256_loadu_pd(divisor_ + k)));
    }
    most = _mm_max_epu32(most, _mm_shuffle_epi32(most, 0x4E));
    most = _mm_max_epu32(most, _mm_shuffle_epi32(most, 0xB1));
    largest = std::max(largest, static_cast<std::uint32_t>(_mm_cvtsi128_si32(most)));
    index_ += pending_;
    value_ += pending_;
    pending_ = 0;
  }

 private:
  std::int32_t* index_;
  double* value_;
  std::uint32_t first_index_;
  std::size_t pending_ = 0;
  double divisor_[window / 4 + 4];
};

// Parse whole lines from p on up to the first one that is not of the usual form, and return its beginning. `chunk` must have room
// for all features between p and `end`, and three more. `line` is the number of the first line, and is set to that of the line
// returned.
MISTAKEBOUND_QUICK inline const char* svmlight_lines(const char* p, const char* end, std::int64_t& line,
                                                     std::uint32_t first_index, Chunk& chunk) {
  constexpr auto widest = std::uint32_t{1} << 30;
  std::uint16_t place[window + 12];
  Pairs pairs(chunk, first_index);
  const char *row = p, *token = p;  // the beginning of the line, and of the next index:value
  std::string_view label;
  std::size_t longest = 0;  // length of the longest pair that may be read from its end, 16 characters back
  bool in_row = false;
  __m128i others = _mm_setzero_si128();
  for (const char* text = p; end - text >= 64 + looks_ahead;) {
    const auto size = std::min(window, static_cast<std::size_t>(end - text - looks_ahead) / 64 * 64);
    const std::size_t count = find_separators<Separators::spaces>(text, size, place);
    std::size_t k = 0;
    while (k < count) {
      if (!in_row) {
        const char* const stop = text + place[k];
        if (after_label(row) != stop || (*stop != ' ' && *stop != '\n')) return row;
        label = {row, static_cast<std::size_t>(stop - row)};
        longest = row - p >= static_cast<std::ptrdiff_t>(lane) ? lane : 0;
        pairs.largest = 0;
        token = stop + 1;
        in_row = *stop == ' ';
        ++k;
      }
      while (in_row && k < count) {
        const std::size_t before = k;
        k = pairs.add(text, place, k, count, longest, token, others);
        if (k == before) {  // it is not of a usual form
          if (!pairs.add_other(token, text + place[k], others)) break;
          token = text + place[k++] + 1;
        }
        if (token[-1] != ' ') {
          if (token[-1] != '\n') return row;
          in_row = false;
        }
      }
      if (in_row && k < count && token == text + place[k] && *token == '\n') {  // a space at the end of the line
        ++token;
        ++k;
        in_row = false;
      }
      if (in_row && k < count) return row;
      pairs.finish();
      if (in_row) break;  // the window ends within the line
      if (pairs.largest > widest || _mm_testz_si128(others, others) == 0) [[unlikely]]
        return row;
      const auto features = static_cast<std::size_t>(pairs.end() - chunk.index.data());
      if (features > chunk.index.size())
        chunk.largest_index = std::max(chunk.largest_index, static_cast<std::int32_t>(pairs.largest));
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
