// Lines of VW text as files mostly have them, by AVX2: "label |namespace name name:value ... |another ...", one space
// between, no weights of namespaces. Anything else, and whatever may be wrong, is left to vw.hpp, which gives the same.
#pragma once
#include <algorithm>
#include <string_view>

#include "avx2.hpp"
#include "chunk.hpp"

#ifdef MISTAKEBOUND_X86
namespace mistakebound::quick {

// From `token` on, those features that a space ends, at the places from k to `count`: words, alone or with a colon and a
// number, but for 0. Returns the place at which the first other one ends.
MISTAKEBOUND_QUICK inline std::size_t plain_features(const char* text, const std::uint16_t* place, std::size_t k,
                                                     std::size_t count, const char*& token, Chunk& chunk, __m128i& others) {
  std::string_view* name = chunk.name.room_for(count - k);
  Key* key = chunk.key.room_for(count - k);
  double* value = chunk.value.room_for(count - k);
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
      if (number == 0) break;
    }
    if (*stop != ' ') break;
    const auto size = static_cast<std::size_t>(word_end - begin);
    *name++ = {begin, size};
    *key++ = Key::of_text(begin, size);
    *value++ = number;
    begin = stop + 1;
    k += places;
  }
  others = _mm_or_si128(others, no_digits);
  token = begin;
  const auto features = static_cast<std::size_t>(value - chunk.value.data());
  chunk.name.resize(features);
  chunk.key.resize(features);
  chunk.value.resize(features);
  return k;
}

// As many whole lines from p on as are of the usual shape; returns where the first other one begins. `chunk` has room for
// all features that can lie between p and `end`; `line` is the number of the first line, and then of that other one.
MISTAKEBOUND_QUICK inline const char* vw_lines(const char* p, const char* end, std::int64_t& line, Chunk& chunk) {
  std::uint16_t place[window + 12];
  chunk.make_keys();  // of lines that were not read here: those of the words here follow them
  const char *row = p, *token = p;  // where the line and the next word begin
  std::string_view label, space;
  enum class In { label, space, features } in = In::label;
  __m128i others = _mm_setzero_si128();
  const auto leave = [&] {
    chunk.drop_row();
    return row;
  };
  for (const char* text = p; end - text >= 64 + looks_ahead;) {
    const auto size = std::min(window, static_cast<std::size_t>(end - text - looks_ahead) / 64 * 64);
    const std::size_t count = find_separators<Separators::of_vw>(text, size, place);
    for (std::size_t k = 0; k < count; ++k) {
      const char* stop = text + place[k];
      if (in == In::features && space.empty()) {
        k = plain_features(text, place, k, count, token, chunk, others);
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
          if (value != 0 && !name.empty()) [[likely]] {
            const std::string_view whole = space.empty() ? name : chunk.arena.join(space, "^", name);
            chunk.name.push_back(whole);
            chunk.key.push_back(Key(whole));
            chunk.value.push_back(value);
          }
          token = stop + 1;
          if (*stop == ' ') [[likely]]
            continue;
          if (_mm_testz_si128(others, others) == 0) [[unlikely]]
            return leave();
          chunk.end_row(label, line++);
          row = token;
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
