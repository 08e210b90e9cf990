// Parse a JSON object strictly (RFC 8259), and flatten it to named features.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "read/bins.hpp"
#include "read/cells.hpp"
#include "read/chunk.hpp"
#include "read/row.hpp"
#include "read/words.hpp"

namespace mistakebound::formats {

// Keys are dotted paths: `a.b` is the b of the object at a, `a.0` the first element of the array at a.
struct JsonOptions {
  std::string label;                      // empty: no key is the label
  std::vector<std::string> ignore, text;  // keys below an ignored key are ignored, too
  int words = 1, letters = 0;             // n-grams of a text, see words.hpp
  int bins = 0;                           // see bins.hpp
  bool zeros = false;                     // whether a zero (or false) is a feature
  bool automatic = false;                 // whether keys without a role are read by cells.hpp
  std::string weight = {};                // the key of the weight; empty: all rows have the weight 1
};

// Reads one object:
//   number        the feature `path` with this value (left out if it is 0), or the feature `path=bin` if `bins` is set
//   true          the feature `path` with the value 1
//   false, null   nothing
//   string        the feature `path=string` with the value 1; the same for each string of an array
//   array         other elements have their position in the path
//   text          its words are features; a text may be an array of strings
//   label         stored as written, a string without its escapes; null means that there is no label
//   weight        the weight of the row, a number
// If `automatic` is set, numbers, strings, true, false and null become the features of cells.hpp instead, like the same values in a
// table. The strings of an array are read as one text. A null in an array is not a feature.
class JsonReader {
 public:
  JsonReader(const JsonOptions& options, const Words& words, const Bins& bins, std::string_view text, Chunk& chunk)
      : options_(options), words_(words), bins_(bins), cells_(words, bins), text_(text), row_(chunk, true) {}

  bool read() {
    path().clear();
    if (const std::size_t fault = utf8_fault(text_); fault != std::string_view::npos) return fail(fault, BadKind::not_utf8, "not UTF-8");
    if (!blank_then('{')) return fail(at_, BadKind::syntax, "expected an object");
    if (!object(Role::plain, 1)) return false;
    skip_blanks();
    if (at_ != text_.size()) return fail(at_, BadKind::syntax, "text after the object");
    return options_.weight.empty() || has_weight_ || fail(0, BadKind::value, "there is no weight: the key " + quoted(options_.weight) + " is missing", options_.weight);
  }

  std::string_view label() const { return label_; }
  double weight() const { return row_.weight; }
  std::size_t where() const { return where_; }
  const Bad& bad() const { return bad_; }  // without the line and the column

 private:
  enum class Role { plain, label, weight, ignored, text };
  static constexpr int deepest = 64;

  // The current path, and a string without its escapes. The memory is reused for all rows of a thread.
  static std::string& path() {
    static thread_local std::string path;
    return path;
  }
  static std::string& scratch() {
    static thread_local std::string scratch;
    return scratch;
  }

  bool fail(std::size_t where, BadKind kind, std::string what, std::string_view feature = {}, std::string_view value = {}) {
    where_ = where;
    bad_ = {0, 0, kind, std::move(what), std::string(feature), std::string(value)};
    return false;
  }
  bool fail_twice(std::size_t where, std::string_view name) { return fail(where, BadKind::repeated, quoted(name) + " is given twice", name); }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool blank_then(char c) {
    skip_blanks();
    return peek() == c;
  }

  // The role of the current path. Everything below an ignored key is ignored, except the label.
  Role role(Role above) const {
    if (!options_.label.empty() && path() == options_.label) return Role::label;
    if (!options_.weight.empty() && path() == options_.weight) return Role::weight;
    if (above == Role::ignored) return above;
    const auto holds = [](const std::vector<std::string>& keys) {
      return std::find(keys.begin(), keys.end(), path()) != keys.end();
    };
    return holds(options_.ignore) ? Role::ignored : holds(options_.text) ? Role::text : Role::plain;
  }

  bool object(Role above, int depth) {
    if (depth > deepest) return fail(at_, BadKind::syntax, "nested deeper than 64");
    ++at_;
    if (blank_then('}')) return ++at_, true;
    const std::size_t before = path().size();
    for (;;) {
      if (!blank_then('"')) return fail(at_, BadKind::syntax, "expected a key");
      std::string_view key;
      const std::size_t begin = at_;
      if (!string(key)) return false;
      if (depth > 1) path() += '.';
      path() += key;
      const bool in_record = key.data() == text_.data() + begin + 1;
      plain_name_ = depth == 1 && in_record ? key : std::string_view();
      if (!blank_then(':')) return fail(at_, BadKind::syntax, "expected ':'");
      ++at_;
      if (!value(role(above), depth, true)) return false;
      path().resize(before);
      if (blank_then('}')) return ++at_, true;
      if (peek() != ',') return fail(at_, BadKind::syntax, "expected ',' or '}'");
      ++at_;
    }
  }

  bool array(Role above, int depth) {
    if (depth > deepest) return fail(at_, BadKind::syntax, "nested deeper than 64");
    const std::size_t begin = at_++;
    const bool is_cell = is_automatic(above);
    if (blank_then(']')) return ++at_, !is_cell || add_cell(begin, "");
    if (above == Role::text) row_.begin_text();
    const std::size_t before = path().size();
    std::string strings;  // all strings of the array, if they are read as one text
    bool has_strings = false;
    for (std::size_t number = 0;; ++number) {
      Role element = above;
      if (!blank_then('"')) {
        path() += '.';
        path() += std::to_string(number);
        plain_name_ = {};
        element = role(above);
      }
      if (is_cell && peek() == '"') {
        std::string_view text;
        if (!string(text)) return false;
        has_strings = true;
        strings.append(text).push_back(' ');
      } else if (!value(element, depth, false)) {
        return false;
      }
      path().resize(before);
      if (blank_then(']')) return ++at_, !has_strings || add_cell(begin, strings);
      if (peek() != ',') return fail(at_, BadKind::syntax, "expected ',' or ']'");
      ++at_;
    }
  }

  bool value(Role role, int depth, bool begins_text) {
    skip_blanks();
    const std::size_t begin = at_;
    const char c = peek();
    if (role == Role::weight && c != '-' && !is_digit(c)) return fail_weight(begin, text_.substr(begin, text_.find_first_of(",}", begin) - begin));
    if (c == '{' || c == '[') {
      if (role == Role::label) return fail(begin, BadKind::label, "the label is neither a string nor a number");
      return c == '{' ? object(role, depth + 1) : array(role, depth + 1);
    }
    if (c == '"') {
      std::string_view text;
      if (!string(text)) return false;
      if (role == Role::label) return give_label(begin, text);
      if (is_automatic(role)) return add_cell(begin, text);
      if (role == Role::text && begins_text) row_.begin_text();
      return add_string(role, begin, text);
    }
    if (c == '-' || is_digit(c)) {
      double value = 0;
      if (!number(value)) return false;
      if (role == Role::label) return give_label(begin, text_.substr(begin, at_ - begin));
      if (role == Role::weight) {
        if (std::exchange(has_weight_, true)) return fail_twice(begin, options_.weight);
        row_.weight = value;
        return is_weight(value) || fail_weight(begin, text_.substr(begin, at_ - begin));
      }
      if (is_automatic(role)) return check(begin, {}, cells_.add_number(value, Names{*this}, row_));
      return bins_.wanted() ? add_bin(role, begin, value) : (value == 0 && !options_.zeros) || add(role, begin, value);
    }
    for (const std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      if (role == Role::label) return give_label(begin, word == "null" ? "" : word);
      if (is_automatic(role)) return word == "null" ? !begins_text || add_cell(begin, "") : add_cell(begin, word);
      if (word == "false" && options_.zeros) return add(role, begin, 0);
      return word != "true" || add(role, begin, 1);
    }
    return fail(at_, BadKind::syntax, "expected a value");
  }

  bool give_label(std::size_t begin, std::string_view text) {
    if (std::exchange(has_label_, true)) return fail_twice(begin, options_.label);
    label_ = text.data() == scratch().data() ? row_.arena().join(text, "") : text;
    return true;
  }

  bool fail_weight(std::size_t begin, std::string_view written) {
    return fail(begin, BadKind::value, not_a_weight(written), options_.weight, written);
  }

  bool add(Role role, std::size_t begin, double value) {
    if (role == Role::ignored) return true;
    const std::string_view name = Names{*this}.name();
    return row_.add(name, value) || fail_twice(begin, name);
  }

  bool add_bin(Role role, std::size_t begin, double value) {
    if (role == Role::ignored) return true;
    const std::string_view name = bins_.name(row_.arena().join(path(), "="), value, row_.arena());
    return row_.add(name, 1) || fail_twice(begin, name);
  }

  bool add_string(Role role, std::size_t begin, std::string_view text) {
    if (role == Role::ignored) return true;
    if (role == Role::text) {
      const std::string_view equals = row_.arena().join(path(), "="), tilde = row_.arena().join(path(), "~");
      return words_.add(text, equals, tilde, row_) || fail(begin, BadKind::repeated, "a word of " + quoted(path()) + " is given twice", path());
    }
    const std::string_view name = row_.arena().join(path(), "=", text);
    return row_.add(name, 1) || fail_twice(begin, name);
  }

  // The names of the features of the current path, made when they are needed.
  struct Names {
    JsonReader& reader;
    std::string_view name() const {
      return reader.plain_name_.data() != nullptr ? reader.plain_name_ : reader.row_.arena().copy(path());
    }
    std::string_view equals() const { return reader.row_.arena().join(path(), "="); }
    std::string_view tilde() const { return reader.row_.arena().join(path(), "~"); }
  };
  bool is_automatic(Role role) const { return options_.automatic && role == Role::plain; }
  bool add_cell(std::size_t begin, std::string_view text) { return check(begin, text, cells_.add(text, Names{*this}, row_)); }
  bool check(std::size_t begin, std::string_view text, Added added) {
    if (added == Added::yes) return true;
    if (added == Added::repeated) return fail(begin, BadKind::repeated, "a feature of " + quoted(path()) + " is given twice", path());
    return fail(begin, BadKind::value, quoted(text) + " is not finite", path(), text);
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  bool digits() {
    const std::size_t begin = at_;
    while (is_digit(peek())) ++at_;
    return at_ > begin;
  }
  bool number(double& value) {
    const std::size_t begin = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else if (!digits()) {
      return fail(at_, BadKind::syntax, "expected a digit");
    }
    if (peek() == '.' && (++at_, !digits())) return fail(at_, BadKind::syntax, "expected a digit");
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return fail(at_, BadKind::syntax, "expected a digit");
    }
    const std::string_view written = text_.substr(begin, at_ - begin);
    return read_number(written, value) == Kind::number || fail(begin, BadKind::value, quoted(written) + " is not finite", path(), written);
  }

  // The text between the quotes: a view of the record or, if it has escapes, of `scratch`.
  bool string(std::string_view& out) {
    const std::size_t begin = ++at_;
    bool escaped = false;
    for (std::size_t copied = begin;;) {
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' && static_cast<unsigned char>(text_[at_]) >= 0x20)
        ++at_;
      if (at_ == text_.size()) return fail(begin - 1, BadKind::syntax, "a string that is not closed");
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return fail(at_, BadKind::syntax, "a control character in a string");
      if (!escaped && text_[at_] == '"') {
        out = text_.substr(begin, at_++ - begin);
        return true;
      }
      if (!std::exchange(escaped, true)) scratch().clear();
      scratch().append(text_, copied, at_ - copied);
      if (text_[at_++] == '"') {
        out = scratch();
        return true;
      }
      if (!escape()) return false;
      copied = at_;
    }
  }

  bool escape() {
    static constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    const std::size_t backslash = at_ - 1;
    if (const std::size_t k = letters.find(peek()); k != std::string_view::npos) {
      ++at_;
      scratch() += meant[k];
      return true;
    }
    std::uint32_t code = 0, low = 0;
    if (!hex4(code)) return fail(backslash, BadKind::syntax, "an invalid escape in a string");
    if (code >= 0xD800 && code <= 0xDFFF) {
      const bool pair = code < 0xDC00 && peek() == '\\' && (++at_, hex4(low)) && low >= 0xDC00 && low <= 0xDFFF;
      if (!pair) return fail(backslash, BadKind::syntax, "half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(code);
    return true;
  }

  bool hex4(std::uint32_t& code) {  // uXXXX
    if (peek() != 'u' || text_.size() - at_ < 5) return false;
    const char* const end = text_.data() + at_ + 5;
    const auto read = std::from_chars(end - 4, end, code, 16);
    at_ += 5;
    return read.ec == std::errc() && read.ptr == end;
  }

  void append_utf8(std::uint32_t code) {
    const auto put = [](std::uint32_t byte) { scratch() += static_cast<char>(byte); };
    if (code < 0x80) return put(code);
    if (code < 0x800) return put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
    if (code < 0x10000) {
      put(0xE0 | code >> 12);
    } else {
      put(0xF0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3F));
    }
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }

  const JsonOptions& options_;
  const Words& words_;
  const Bins& bins_;
  const Cells cells_;
  std::string_view text_, label_;
  std::string_view plain_name_;  // the path as a view of the record, if it is one key without escapes
  Row row_;
  std::size_t at_ = 0, where_ = 0;
  bool has_label_ = false, has_weight_ = false;
  Bad bad_;
};

}  // namespace mistakebound::formats
