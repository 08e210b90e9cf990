// svmlight / libsvm:   label [qid:7] 3:0.5 7:1 ... [# comment]
//
// Indices count from 1 unless `zero_based`. They may be in any order, and the values of a repeated index are summed. Empty lines
// and lines with only a comment are skipped. If `label_optional`, a line may begin with its first index:value.
#pragma once
#include <cmath>
#include <cstdint>
#include <string_view>

#include "read/chunk.hpp"
#include "read/numbers.hpp"
#include "read/svmlight_avx2.hpp"

namespace mistakebound {

struct Svmlight {
  static constexpr bool points_into_text = false;
  static constexpr bool named = false;
  static constexpr std::int64_t widest = (std::int64_t{1} << 31) - 2;
  bool zero_based = false;
  bool label_optional = false;

  // Parse lines up to the first one that is not of the usual form. Return its beginning, and set `line` to its number.
  const char* parse_quickly(const char* p, const char* end, std::int64_t& line, Chunk& chunk) const {
#ifdef MISTAKEBOUND_X86
    if (cpu_has_avx2()) return quick::svmlight_lines(p, end, line, zero_based ? 0U : 1U, chunk);
#endif
    return p;
  }
  // Reserve memory for all features that a text of this size can have ("1:1 " is the shortest), and four more for the SIMD
  // parser.
  static void make_room(std::size_t text, Chunk& chunk) {
    chunk.index.reserve(chunk.index.size() + text / 4 + 4);
    chunk.value.reserve(chunk.value.size() + text / 4 + 4);
  }

  // Parse one line, without its newline. `after` is the number of readable bytes after it. Return false if it is malformed;
  // then `bad` is the reason, and the chunk does not change.
  bool parse(std::string_view text, std::ptrdiff_t after, std::int64_t line, Chunk& chunk, Bad& bad) const {
    if (little_endian && after >= readable) return parse_line<true>(text, line, chunk, bad);
    return parse_line<false>(text, line, chunk, bad);
  }

 private:
  template <bool Quick>
  bool parse_line(std::string_view text, std::int64_t line, Chunk& chunk, Bad& bad) const {
    const char *p = text.data(), *const begin = p, *end = p + text.size();
    const auto fail = [&](const char* where, BadKind kind, std::string what, std::string value = {}, std::string feature = {}) {
      bad = {line, where - begin + 1, kind, std::move(what), std::move(feature), std::move(value)};
      chunk.drop_row();
      return false;
    };
    p = skip_spaces(p, end);
    if (p == end || *p == '#') return true;
    double number;
    const char* const label = p;
    p = read_number(p, end, number);
    if (p == label || !ends_token(p, end)) {
      if (!begins_feature(label, end))
        return fail(label, BadKind::label, "the label must be a number" + got(label, end), token_of(label, end));
      if (!label_optional)
        return fail(label, BadKind::no_label, "there is no label before " + word(label, end), token_of(label, end));
      p = label;
      number = 0;
    }
    const std::string_view label_text(label, static_cast<std::size_t>(p - label));
    if (!std::isfinite(number)) return fail(label, BadKind::label, "the label is not finite", std::string(label_text));
    const std::int64_t first = zero_based ? 0 : 1;
    for (;;) {
      p = skip_spaces(p, end);
      if (p == end || *p == '#') break;
      const char* const token = p;
      std::int64_t index = 0;
      if constexpr (Quick) {
        if (const Digits digits(p); digits.count > 0) {
          index = static_cast<std::int64_t>(digits.value());
          p += digits.count;
        }
      }
      while (p < end && is_digit(*p) && p - token < 18) index = 10 * index + (*p++ - '0');
      if (p == token || p == end || *p != ':') {
        if (end - token >= 4 && std::string_view(token, 4) == "qid:") {
          p = token + 4;
          while (p < end && is_digit(*p)) ++p;
          if (p > token + 4 && ends_token(p, end)) continue;
          return fail(token, BadKind::syntax, "qid must be a whole number" + got(token, end), token_of(token, end));
        }
        return fail(token, BadKind::syntax, "a feature must be index:value" + got(token, end), token_of(token, end));
      }
      if (index < first) return fail(token, BadKind::zero_index, "index 0: indices count from 1 here", {}, "0");
      if (index > widest)
        return fail(token, BadKind::index, "the index must be at most " + std::to_string(widest) + ", got " + std::to_string(index), {},
                    std::string(token, p));
      const char* const value = ++p;
      p = Quick ? read_number_quickly(p, end, number) : read_number(p, end, number);
      if (p == value || !ends_token(p, end))
        return fail(value, BadKind::value, "the value is not a number" + got(token, end), token_of(value, end),
                    std::string(token, value - 1));
      if (!std::isfinite(number))
        return fail(value, BadKind::value, "the value is not finite" + got(token, end), std::string(value, p),
                    std::string(token, value - 1));
      const auto slot = static_cast<std::int32_t>(index - first);
      chunk.index.push_back(slot);
      chunk.value.push_back(number);
      if (slot > chunk.largest_index) chunk.largest_index = slot;
    }
    chunk.end_row(label_text, line);
    return true;
  }

  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  static const char* skip_spaces(const char* p, const char* end) {
    while (p < end && is_space(*p)) ++p;
    return p;
  }
  static bool begins_feature(const char* p, const char* end) {
    const char* const begin = p;
    while (p < end && is_digit(*p)) ++p;
    return p > begin && p < end && *p == ':';
  }
  static bool ends_token(const char* p, const char* end) { return p == end || is_space(*p) || *p == '#'; }
  static std::string word(const char* token, const char* end) {
    const char* p = token;
    while (p < end && !is_space(*p) && p - token < 40) ++p;
    return "'" + std::string(token, p) + "'";
  }
  static std::string got(const char* token, const char* end) { return ", got " + word(token, end); }
  static std::string token_of(const char* token, const char* end) {
    return {token, std::find_if(token, end, is_space)};
  }
};

}  // namespace mistakebound
