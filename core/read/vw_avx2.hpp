// Parse the usual lines of VW text with AVX2: "label |namespace name name:value ... |another ...", with one space between, and
// without weights of namespaces. All other lines, and malformed ones, are left to vw.hpp, which gives the same results.
#pragma once
#include <algorithm>
#include <string_view>

#include "read/avx2.hpp"
#include "read/chunk.hpp"

#ifdef MISTAKEBOUND_X86
namespace mistakebound::quick {

MISTAKEBOUND_QUICK inline __m256i load32(const char* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
MISTAKEBOUND_QUICK inline __m256i is(__m256i bytes, int value) {
  return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(static_cast<char>(value)));
}
// The highest bit of each byte: whether it is at least `first`.
MISTAKEBOUND_QUICK inline __m256i is_from(__m256i bytes, int first) {
  return _mm256_subs_epu8(bytes, _mm256_set1_epi8(static_cast<char>(first - 0x80)));
}
MISTAKEBOUND_QUICK inline __m256i any(__m256i a, __m256i b, __m256i c = _mm256_setzero_si256(), __m256i d = _mm256_setzero_si256()) {
  return _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
}
// Whether a line is valid UTF-8, as in utf8.hpp. `stop` is its newline. The first three bytes of a usual line are ASCII, and each
// other byte can be checked together with the three before it. The results are in the highest bits.
MISTAKEBOUND_QUICK inline bool line_is_utf8(const char* row, const char* stop) {
  for (const char* p = row + 3; p <= stop; p += 32) {
    const __m256i byte = load32(p), third = load32(p - 3);
    if (_mm256_movemask_epi8(any(byte, third)) == 0) continue;
    const __m256i before = load32(p - 1), second = load32(p - 2);
    const __m256i expected = any(is_from(before, 0xC0), is_from(second, 0xE0), is_from(third, 0xF0));
    const __m256i follows = _mm256_andnot_si256(_mm256_add_epi8(byte, byte), byte);  // 10......
    const __m256i never = any(is(_mm256_and_si256(byte, _mm256_set1_epi8(-2)), 0xC0), is_from(byte, 0xF5));
    // Some bytes must not follow some lead bytes: overlong forms, surrogates, and characters above U+10FFFF.
    const __m256i from_a0 = _mm256_slli_epi16(byte, 2), from_90 = any(from_a0, _mm256_slli_epi16(byte, 3));
    const __m256i barred = any(_mm256_andnot_si256(from_a0, is(before, 0xE0)), _mm256_and_si256(from_a0, is(before, 0xED)),
                               _mm256_andnot_si256(from_90, is(before, 0xF0)), _mm256_and_si256(from_90, is(before, 0xF4)));
    const __m256i wrong = any(_mm256_xor_si256(expected, follows), never, barred);
    const std::uint64_t of_line = (std::uint64_t{2} << std::min<std::ptrdiff_t>(stop - p, 31)) - 1;
    if ((static_cast<std::uint32_t>(_mm256_movemask_epi8(wrong)) & of_line) != 0) return false;
  }
  return true;
}

// Parse features from `token` on that end with a space, at the positions k to `count`: words, alone or with a colon and a number
// that is not 0. Return the position where the first other feature ends. `Ones`: all values so far are 1 and are not stored; a
// feature with another value is left to the caller.
template <bool Ones>
MISTAKEBOUND_QUICK inline std::size_t plain_features(const char* text, const std::uint16_t* place, std::size_t k,
                                                     std::size_t count, const char*& token, Chunk& chunk, __m128i& others) {
  Key* key = chunk.key.room_for(count - k);
  [[maybe_unused]] double* value = Ones ? nullptr : chunk.value.room_for(count - k);
  const char* begin = token;
  __m128i no_digits = _mm_setzero_si128();
  while (k < count) {
    const char *const word_end = text + place[k], *stop = word_end;
    if (word_end == begin) break;
    std::size_t places = 1;
    double number = 1;
    if (*word_end == ':') {
      if (k + 1 == count) break;
      stop = text + place[k + 1];
      places = 2;
      Written written;
      if (!look(word_end + 1, stop, written)) break;
      number = value_of(written, no_digits);
      if (number == 0 || (Ones && number != 1)) break;
    }
    if (*stop != ' ') break;
    const auto size = static_cast<std::size_t>(word_end - begin);
    *key = Key::of_text(begin, size);
    if (!key->is_name()) [[unlikely]]
      chunk.long_name.push_back({static_cast<std::size_t>(key - chunk.key.data()), chunk.arena.copy({begin, size})});
    ++key;
    if constexpr (!Ones) *value++ = number;
    begin = stop + 1;
    k += places;
  }
  others = _mm_or_si128(others, no_digits);
  token = begin;
  chunk.key.resize(static_cast<std::size_t>(key - chunk.key.data()));
  if constexpr (!Ones) chunk.value.resize(chunk.key.size());
  return k;
}

// Parse whole lines from p on up to the first one that is not of the usual form, and return its beginning. `chunk` must have room
// for all features between p and `end`. `line` is the number of the first line, and is set to that of the line returned.
MISTAKEBOUND_QUICK inline const char* vw_lines(const char* p, const char* end, std::int64_t& line, Chunk& chunk) {
  std::uint16_t place[window + 12];
  const char *row = p, *token = p;  // the beginning of the line, and of the next word
  std::string_view label, space;
  enum class In { label, space, features } in = In::label;
  bool line_is_ascii = true;  // whether all windows with parts of the line are ASCII; if not, the line must be checked
  __m128i others = _mm_setzero_si128();
  const auto leave = [&] {
    chunk.drop_row();
    return row;
  };
  for (const char* text = p; end - text >= 64 + looks_ahead;) {
    const auto size = std::min(window, static_cast<std::size_t>(end - text - looks_ahead) / 64 * 64);
    bool window_is_ascii = true;
    const std::size_t count = find_separators<Separators::of_vw>(text, size, place, &window_is_ascii);
    line_is_ascii = window_is_ascii && (line_is_ascii || in == In::label);
    for (std::size_t k = 0; k < count; ++k) {
      const char* stop = text + place[k];
      if (in == In::features && space.empty()) {
        k = chunk.value.empty() ? plain_features<true>(text, place, k, count, token, chunk, others)
                                : plain_features<false>(text, place, k, count, token, chunk, others);
        if (k == count) break;
        stop = text + place[k];
      }
      if (in == In::features) [[likely]] {
        if (*stop != '|') [[likely]] {
          const std::string_view name(token, static_cast<std::size_t>(stop - token));
          double value = 1;
          if (*stop == ':') {
            if (k + 1 == count) break;  // the window ends within the feature
            stop = text + place[++k];
            Written number;
            if (!look(name.data() + name.size() + 1, stop, number)) [[unlikely]]
              return leave();
            value = value_of(number, others);
          }
          if (*stop == ' ') [[likely]] {
            if (name.empty()) return leave();
          } else if (*stop != '\n' || (name.empty() && stop != token)) {
            return leave();
          }
          if (value != 0 && !name.empty()) [[likely]]
            chunk.add(space, name, value);
          token = stop + 1;
          if (*stop == ' ') [[likely]]
            continue;
          if (_mm_testz_si128(others, others) == 0) [[unlikely]]
            return leave();
          if (!line_is_ascii && !line_is_utf8(row, stop)) [[unlikely]]
            return leave();
          chunk.end_row(label, line++);
          row = token;
          line_is_ascii = window_is_ascii;
          in = In::label;
          continue;
        }
        if (stop != token) return leave();
        token = stop + 1;
        in = In::space;
      } else if (in == In::label) {
        if (after_label(row) != stop || *stop != ' ' || stop[1] != '|') return leave();
        if (k + 1 == count) break;
        ++k;  // the bar
        label = {row, static_cast<std::size_t>(stop - row)};
        token = stop + 2;
        in = In::space;
      } else {
        if (*stop != ' ') return leave();
        space = {token, static_cast<std::size_t>(stop - token)};
        token = stop + 1;
        in = In::features;
      }
    }
    const char* const next = in == In::label ? row : token;
    if (next == text) return leave();  // a word longer than the window
    text = next;
  }
  return leave();
}

}  // namespace mistakebound::quick
#endif
