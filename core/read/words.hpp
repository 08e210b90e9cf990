// The features of a text: its words, n-grams of words, and n-grams of characters.
#pragma once
#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "read/row.hpp"

namespace mistakebound::formats {

// The text is converted to lower case, with one space between two words. All n-grams are substrings of the result. A word
// is [a-z0-9$!']+ after the conversion. Bytes above 127 belong to words and do not change.
class Words {
 public:
  // n-grams of up to `words` words, and n-grams of exactly `letters` characters (0: none).
  Words(int words, int letters) : words_(size(words)), letters_(size(letters)) {}

  // Add the features `word_prefix` + words and `letter_prefix` + characters, each once. Return false if the row has one of them
  // from another field.
  bool add(std::string_view text, std::string_view word_prefix, std::string_view letter_prefix, Row& row) const {
    static thread_local std::string plain;
    static thread_local std::vector<std::size_t> starts;
    lower(text, plain, starts);
    return add_words(plain, starts, word_prefix, row) && add_letters(plain, letter_prefix, row);
  }

  static char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
  static bool is_word_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '$' || c == '!' || c == '\'' ||
           static_cast<unsigned char>(c) > 127;
  }

 private:
  static std::size_t size(int n) {
    if (n < 0) throw std::invalid_argument("words and letters must be at least 0, got " + std::to_string(n));
    return static_cast<std::size_t>(n);
  }

  static void lower(std::string_view text, std::string& plain, std::vector<std::size_t>& starts) {
    plain.clear();
    starts.clear();
    bool inside = false;
    for (const char raw : text) {
      const char c = lowered(raw);
      const bool belongs = is_word_character(c);
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

  // Characters, not bytes, so that names are valid UTF-8. The caller has checked that the text is.
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
