// Vowpal Wabbit's text:   [label [importance [base]]] ['tag]|namespace[:weight] feature[:value] ... |another ...
//
// The name of a feature in a namespace is namespace^feature, as in the audit output of VW. In the namespace without a name it is
// the feature's own name. The value (1 by default) is multiplied by the weight of the namespace. A tag is a word directly before
// the first bar, or a word that begins with an apostrophe. Empty lines are skipped.
#pragma once
#include <cmath>
#include <cstdint>
#include <string_view>

#include "read/chunk.hpp"
#include "read/numbers.hpp"
#include "read/utf8.hpp"
#include "read/vw_avx2.hpp"

namespace mistakebound {

struct VwText {
  static constexpr bool points_into_text = false;
  static constexpr bool named = true;

  // Parse lines up to the first one that is not of the usual form. Return its beginning, and set `line` to its number.
  static const char* parse_quickly(const char* p, [[maybe_unused]] const char* end, [[maybe_unused]] std::int64_t& line,
                                   [[maybe_unused]] Chunk& chunk) {
#ifdef MISTAKEBOUND_X86
    if (cpu_has_avx2()) return quick::vw_lines(p, end, line, chunk);
#endif
    return p;
  }

  bool parse(std::string_view text, std::ptrdiff_t, std::int64_t line, Chunk& chunk, Bad& bad) const {
    const char *p = text.data(), *const begin = p, *end = p + text.size();
    while (end > p && is_space(end[-1])) --end;
    const auto fail = [&](const char* where, BadKind kind, std::string what, std::string value = {}, std::string feature = {}) {
      bad = {line, where - begin + 1, kind, std::move(what), std::move(feature), std::move(value)};
      chunk.drop_row();
      return false;
    };
    if (const std::size_t fault = formats::utf8_fault({p, static_cast<std::size_t>(end - p)}); fault != std::string_view::npos)
      return fail(p + fault, BadKind::not_utf8, "not UTF-8");
    p = skip_spaces(p, end);
    if (p == end) return true;

    std::string_view label, tag;
    double importance = 1, base;
    for (int word = 0; p < end && *p != '|'; ++word) {
      const char* const token = p;
      while (p < end && !is_space(*p) && *p != '|') ++p;
      const std::string_view it(token, static_cast<std::size_t>(p - token));
      const bool touches_bar = p < end && *p == '|';
      p = skip_spaces(p, end);
      double number;
      if (it.front() == '\'' || touches_bar) {
        tag = it.front() == '\'' ? it.substr(1) : it;
        if (p < end && *p != '|') return fail(p, BadKind::syntax, "expected a bar (|) after the tag");
        break;
      }
      if (!is_number(it, number) || !std::isfinite(number))
        return fail(token, word == 0 ? BadKind::label : BadKind::syntax,
                    words[word < 3 ? word : 3] + std::string(", got '") + std::string(it.substr(0, 40)) + "'", std::string(it));
      if (word == 0) label = it;
      if (word == 1 && !is_weight(number))
        return fail(token, BadKind::syntax, "the importance weight must be from 0 to 1e9, got '" + std::string(it.substr(0, 40)) + "'", std::string(it));
      if (word == 1) importance = number;
      if (word == 2) base = number;
      if (word > 2) return fail(token, BadKind::syntax, words[3], std::string(it));
    }
    static_cast<void>(base = 0);  // a base is for regression: parsed, but not used
    if (p == end) return fail(p, BadKind::syntax, "there is no bar: features must follow a bar (|)");

    std::string_view space;
    double weight = 1;
    while (p < end) {
      if (*p == '|') {
        const char* const name = ++p;
        while (p < end && !is_space(*p) && *p != ':' && *p != '|') ++p;
        space = {name, static_cast<std::size_t>(p - name)};
        weight = 1;
        if (p < end && *p == ':') {
          const char* const number = ++p;
          p = read_number(p, end, weight);
          if (p == number || !std::isfinite(weight)) return fail(number, BadKind::syntax, "the namespace's weight is not a number");
        }
        if (p < end && !is_space(*p) && *p != '|') return fail(p, BadKind::syntax, "expected a space after the namespace");
      } else {
        const char* const name = p;
        while (p < end && !is_space(*p) && *p != ':' && *p != '|') ++p;
        const std::string_view feature(name, static_cast<std::size_t>(p - name));
        double value = 1;
        if (p < end && *p == ':') {
          const char* const number = ++p;
          p = read_number(p, end, value);
          if (p == number || !std::isfinite(value)) {
            const char* const reason = p == number ? "' is not a number" : "' is not finite";
            return fail(number, BadKind::value, "the value of '" + std::string(feature.substr(0, 40)) + reason,
                        std::string(number, std::find_if(number, end, ends_value)), full_name(space, feature));
          }
        }
        if (p < end && !is_space(*p) && *p != '|') return fail(p, BadKind::syntax, "expected a space after the feature", {}, full_name(space, feature));
        if (feature.empty()) return fail(name, BadKind::syntax, "a value has no feature name before it");
        const bool is_zero = value == 0 || weight == 0;
        value *= weight;
        if (!std::isfinite(value))
          return fail(name, BadKind::value, "the value times the namespace's weight is not finite", {}, full_name(space, feature));
        if (value == 0 && !is_zero)
          return fail(name, BadKind::value, "the value times the namespace's weight is too small", {}, full_name(space, feature));
        if (value == 0) {  // leave it out
          p = skip_spaces(p, end);
          continue;
        }
        chunk.add(space, feature, value);
      }
      p = skip_spaces(p, end);
    }
    chunk.end_row(label, line, importance, tag);
    return true;
  }

 private:
  static constexpr const char* words[] = {"the label must be a number", "the importance weight must be a number",
                                          "the base must be a number",
                                          "there may be only a label, an importance weight, a base and a tag before the bar"};
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  static bool ends_value(char c) { return is_space(c) || c == '|'; }
  static std::string full_name(std::string_view space, std::string_view feature) {
    return (space.empty() ? std::string() : std::string(space) + "^").append(feature);
  }
  static const char* skip_spaces(const char* p, const char* end) {
    while (p < end && is_space(*p)) ++p;
    return p;
  }
};

}  // namespace mistakebound
