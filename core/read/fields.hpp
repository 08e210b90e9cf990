// Split a record of a table into fields (RFC 4180), and find the end of a record.
#pragma once
#include <cstring>
#include <string>
#include <string_view>

#include "read/row.hpp"

namespace mistakebound::formats {

// A quote is special only at the beginning of a field. Blanks around a field are not part of it, unless they are quoted.
//   , and ;   RFC 4180 except for the blanks: separators, newlines and doubled quotes may occur between the quotes.
//   space     the same; several spaces are one separator, and spaces at the ends of a line are ignored.
//   tab       a record is one line. A field that begins with a quote but has no closing quote directly before a tab or the end
//             of the line is used unchanged, because tab-separated text is rarely quoted but often contains quotes.
struct Field {
  std::string_view text;     // without the quotes around it
  std::size_t begin = 0;     // position in the record, including the quote
  bool has_doubled = false;  // whether it contains "", which means "
};

// The characters around a field that are not part of it.
inline std::string_view blanks(char separator) { return separator == '\t' || separator == ' ' ? " " : " \t"; }

// The position of the first character from `at` on that is not a blank.
inline std::size_t past_blanks(std::string_view text, std::size_t at, char separator) {
  return std::min(text.find_first_not_of(blanks(separator), at), text.size());
}

// The position of the quote that closes the one at `open`, or npos.
inline std::size_t closing_quote(std::string_view text, std::size_t open, bool& has_doubled) {
  for (std::size_t at = open + 1;; at += 2) {
    at = text.find('"', at);
    if (at == std::string_view::npos || at + 1 >= text.size() || text[at + 1] != '"') return at;
    has_doubled = true;
  }
}

class Fields {
 public:
  // A record without its newline.
  Fields(std::string_view record, char separator) : record_(record), separator_(separator) {}

  // Return false at the end, or if the record is malformed. Then `fault` is the reason and `at` the position.
  bool next(Field& field) {
    if (more_) at_ = past_blanks(record_, at_, separator_);
    if (separator_ == ' ') more_ = at_ < record_.size();
    if (!more_) return false;
    field = Field{{}, at_, false};
    if (at_ < record_.size() && record_[at_] == '"') {
      const std::size_t close = closing_quote(record_, at_, field.has_doubled);
      const bool closes = close != std::string_view::npos;
      std::size_t after = closes ? close + 1 : 0;
      if (closes && separator_ != ' ') after = past_blanks(record_, after, separator_);
      if (closes && (after == record_.size() || record_[after] == separator_)) {
        field.text = record_.substr(at_ + 1, close - at_ - 1);
        go_past(after);
        return true;
      }
      if (separator_ != '\t') {
        fault_ = closes ? "text after a closing quote" : "a quote that is not closed";
        if (closes) at_ = after;
        return false;
      }
      field.has_doubled = false;
    }
    const std::size_t end = std::min(record_.find(separator_, at_), record_.size());
    field.text = record_.substr(at_, end - at_);
    field.text = field.text.substr(0, field.text.find_last_not_of(blanks(separator_)) + 1);
    go_past(end);
    return true;
  }

  const char* fault() const { return fault_; }
  std::size_t at() const { return at_; }

 private:
  void go_past(std::size_t end) {
    more_ = end < record_.size();
    at_ = more_ ? end + 1 : end;
  }

  std::string_view record_;
  std::size_t at_ = 0;
  char separator_;
  bool more_ = true;
  const char* fault_ = nullptr;
};

// The text of a field with "" replaced by ". It is stored in `scratch` if it differs from the record.
inline std::string_view unquoted(const Field& field, std::string& scratch) {
  if (!field.has_doubled) return field.text;
  scratch.clear();
  for (std::size_t at = 0; at < field.text.size(); ++at) {
    scratch.push_back(field.text[at]);
    if (field.text[at] == '"') ++at;
  }
  return scratch;
}

// The number of bytes of the first record with its newline, or 0 if its end is not in the text and more text may follow.
inline std::size_t end_of_record(std::string_view text, char separator, bool last) {
  const std::size_t incomplete = last ? text.size() : 0;
  const std::size_t newline = text.find('\n');
  const std::string_view first_line = text.substr(0, newline);
  if (separator == '\t' || first_line.find('"') == std::string_view::npos)
    return newline == std::string_view::npos ? incomplete : newline + 1;
  const char ends[] = {separator, '\n'};
  for (std::size_t at = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0; at < text.size();) {
    at = past_blanks(text, at, separator);
    if (at < text.size() && text[at] == '"') {
      bool has_doubled = false;
      at = closing_quote(text, at, has_doubled);
      if (at == std::string_view::npos) return incomplete;
    }
    at = text.find_first_of(std::string_view(ends, 2), at);
    if (at == std::string_view::npos) return incomplete;
    if (text[at++] == '\n') return at;
  }
  return incomplete;
}

}  // namespace mistakebound::formats
