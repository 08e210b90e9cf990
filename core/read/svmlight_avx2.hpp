// Lines of svmlight as files mostly have them, by AVX2: "label index:value index:value ...", one space between. Anything
// else, and whatever may be wrong, is left to svmlight.hpp, which gives the same numbers.
#pragma once
#include <algorithm>
#include <string_view>

#include "avx2.hpp"
#include "chunk.hpp"

#ifdef MISTAKEBOUND_X86
namespace mistakebound::quick {

inline constexpr std::size_t most_index_digits = 9;  // below 2^31

// index:value, from `begin` to `stop`. False if it is not of the usual shape; so it is, too, if any bit is set in `others`
// afterwards, which is looked at once a line.
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

// As many whole lines from p on as are of the usual shape; returns where the first other one begins. `chunk` has room for
// all features that can lie between p and `end`; `line` is the number of the first line, and then of that other one.
MISTAKEBOUND_QUICK inline const char* svmlight_lines(const char* p, const char* end, std::int64_t& line,
                                                     std::uint32_t first_index, Chunk& chunk) {
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
    const std::size_t count = find_separators<Separators::spaces>(text, size, place);
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
      for (; in_row && k < count; ++k) {
        const char* const stop = text + place[k];
        std::uint32_t its_index;
        if (!read_pair(token, stop, its_index, *value, others)) [[unlikely]]
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
      if (in_row && k < count) return row;
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
