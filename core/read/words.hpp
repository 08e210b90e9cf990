// The features of a text: its words, runs of neighbouring words, and runs of neighbouring characters.
#pragma once
#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "read/row.hpp"

namespace mistakebound::formats {

// Written once to lower case, with one space between two words; all n-grams are then pieces of that, as they stand.
// A word is [a-z0-9$!']+ after lower-casing; bytes above 127 are letters and keep their case.
class Words {
 public:
  // Runs of up to `words` words, and runs of exactly `letters` characters (0: none).
  Words(int words, int letters) : words_(size(words)), letters_(size(letters)) {}

  // Adds `word_prefix` + words and `letter_prefix` + characters, each once. False: the row has one from elsewhere.
  bool add(std::string_view text, std::string_view word_prefix, std::string_view letter_prefix, Row& row) const {
    static thread_local std::string plain;
    static thread_local std::vector<std::size_t> starts;
    lower(text, plain, starts);
    return add_words(plain, starts, word_prefix, row) && add_letters(plain, letter_prefix, row);
  }

 private:
  static std::size_t size(int n) {
    if (n < 0) throw std::invalid_argument("a number of words or letters is not negative");
    return static_cast<std::size_t>(n);
  }

  static char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
  static bool of_a_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '$' || c == '!' || c == '\'' ||
           static_cast<unsigned char>(c) > 127;
  }

  static void lower(std::string_view text, std::string& plain, std::vector<std::size_t>& starts) {
    plain.clear();
    starts.clear();
    bool inside = false;
    for (const char raw : text) {
      const char c = lowered(raw);
      const bool belongs = of_a_word(c);
      if (belongs && !inside) {
        if (!plain.empty()) plain.push_back(' ');
        starts.push_back(plain.size());
      }
      if (belongs) plain.push_back(c);
      inside = belongs;
    }
  }

  bool add_words(std::string_view plain, const std::vector<std::size_t>& starts, std::string_view prefix, Row& row) const {
    for (std::size_t first = 0; first < starts.size(); ++first) {
      for (std::size_t next = first + 1; next <= starts.size() && next - first <= words_; ++next) {
        const std::size_t end = next < starts.size() ? starts[next] - 1 : plain.size();
        if (!row.add_word(row.arena().join(prefix, plain.substr(starts[first], end - starts[first])))) return false;
      }
    }
    return true;
  }

  // Characters, not bytes: a name cut inside a character would be no UTF-8. (The caller has seen to it that the text is.)
  bool add_letters(std::string_view plain, std::string_view prefix, Row& row) const {
    if (letters_ == 0) return true;
    std::size_t begin = 0, end = 0, held = 0;
    while (end < plain.size()) {
      end += step(plain, end);
      if (++held < letters_) continue;
      if (!row.add_word(row.arena().join(prefix, plain.substr(begin, end - begin)))) return false;
      begin += step(plain, begin);
      --held;
    }
    return true;
  }

  static std::size_t step(std::string_view text, std::size_t at) { return std::max<std::size_t>(1, utf8_size(text, at)); }

  std::size_t words_, letters_;
};

}  // namespace mistakebound::formats
