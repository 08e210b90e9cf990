// Vowpal Wabbit's text:   [label [importance [base]]] ['tag]|namespace[:weight] feature[:value] ... |another ...
//
// A feature of a namespace is called namespace^feature, as VW's own audit shows it; one of the nameless namespace by its
// bare name. Its value (1 if none is given) is multiplied by the namespace's weight. A tag is the word that touches the
// first bar, or begins with an apostrophe. Empty lines are no rows.
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

  // As many lines as are of the usual shape: where the first other one begins, whose number `line` then is.
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
    const auto fail = [&](const char* where, std::string what) {
      bad = {line, where - begin + 1, std::move(what)};
      chunk.drop_row();
      return false;
    };
    if (const std::size_t fault = formats::utf8_fault({p, static_cast<std::size_t>(end - p)}); fault != std::string_view::npos)
      return fail(p + fault, "not UTF-8");
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
        if (p < end && *p != '|') return fail(p, "after the tag comes a bar");
        break;
      }
      if (!is_number(it, number) || !std::isfinite(number))
        return fail(token, words[word < 3 ? word : 3] + std::string(", got '") + std::string(it.substr(0, 40)) + "'");
      if (word == 0) label = it;
      if (word == 1 && number < 0) return fail(token, "an importance weight is not negative");
      if (word == 1) importance = number;
      if (word == 2) base = number;
      if (word > 2) return fail(token, words[3]);
    }
    static_cast<void>(base = 0);  // a base is for regression: read, and not used
    if (p == end) return fail(p, "no bar: features come after |");

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
          if (p == number || !std::isfinite(weight)) return fail(number, "the namespace's weight is not a number");
        }
        if (p < end && !is_space(*p) && *p != '|') return fail(p, "after a namespace comes a space");
      } else {
        const char* const name = p;
        while (p < end && !is_space(*p) && *p != ':' && *p != '|') ++p;
        const std::string_view feature(name, static_cast<std::size_t>(p - name));
        double value = 1;
        if (p < end && *p == ':') {
          const char* const number = ++p;
          p = read_number(p, end, value);
          if (p == number) return fail(number, "the value of '" + std::string(feature.substr(0, 40)) + "' is not a number");
          if (!std::isfinite(value)) return fail(number, "the value of '" + std::string(feature.substr(0, 40)) + "' is not finite");
        }
        if (p < end && !is_space(*p) && *p != '|') return fail(p, "after a feature comes a space");
        if (feature.empty()) return fail(name, "a value without a name");
        const bool is_zero = value == 0 || weight == 0;
        value *= weight;
        if (!std::isfinite(value)) return fail(name, "the value times the namespace's weight is not finite");
        if (value == 0 && !is_zero) return fail(name, "the value times the namespace's weight is too small");
        if (value == 0) {  // as if it were not there
          p = skip_spaces(p, end);
          continue;
        }
        chunk.add(space, feature, value);
      }
      p = skip_spaces(p, end);
    }
    chunk.end_row(label, line, static_cast<float>(importance), tag);
    return true;
  }

 private:
  static constexpr const char* words[] = {"the label must be a number", "the importance weight must be a number",
                                          "the base must be a number",
                                          "before the bar come at most a label, an importance, a base and a tag"};
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  static const char* skip_spaces(const char* p, const char* end) {
    while (p < end && is_space(*p)) ++p;
    return p;
  }
};

}  // namespace mistakebound
