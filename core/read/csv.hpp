// Tables: a record is a row, and a field is a feature. Independent of Python and of files.
#pragma once
#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "read/bins.hpp"
#include "read/cells.hpp"
#include "read/chunk.hpp"
#include "read/fields.hpp"
#include "read/row.hpp"
#include "read/sniff.hpp"
#include "read/words.hpp"

namespace mistakebound::formats {

// If `automatic` is set, a field of a column without a role becomes features as described in cells.hpp. Otherwise a field becomes
// features as follows:
//   missing value              nothing
//   number                     the feature `column` with this value (left out if it is 0, unless `zeros`), or the feature
//                              `column=bin` with the value 1 if `bins` is set
//   other field                the feature `column=field` with the value 1
//   field of `categorical`     the same, also for numbers
//   field of `text`            its words (words.hpp)
//   label                      stored as written; empty if it is a missing value
//   weight                     the weight of the row
// For each pair of columns in `interact`, each pair of their features gives another feature, `a=x*b=y`, with the product of the
// values.
//
// The names of numeric features are views of strings in this object, which must not move while a chunk uses them.
class Table {
 public:
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  explicit Table(TableOptions options)
      : options_(std::move(options)), words_(options_.words, options_.letters), bins_(options_.bins), cells_(words_, bins_) {
    if (options_.separator == '"' || options_.separator == '\n' || options_.separator == '\r')
      throw std::invalid_argument("separator must not be a quote or a newline");
  }

  static TableOptions sniff(std::string_view beginning) { return Sniffer::sniff(beginning); }

  // The number of bytes of the first record with its newline, or 0 if it is incomplete and more text may follow.
  std::size_t record_end(std::string_view text, bool last) const { return end_of_record(text, options_.separator, last); }

  // Whether a record has no field. `parse` skips such a record, and it cannot be the first record.
  bool blank(std::string_view record, std::int64_t line) const { return has_no_field(bare_record(record, line)); }

  // Set the columns from the first record: their names if it is a header, otherwise c1, c2, ... A column with an empty name in
  // the header also gets its number as its name.
  void begin(std::string_view first_record) {
    columns_.clear();
    places_.clear();
    if (blank(first_record, 1)) throw std::invalid_argument("the table begins with an empty line");
    Fields fields(bare_record(first_record, 1), options_.separator);
    std::string scratch;
    for (Field field; fields.next(field);) {
      std::string name(options_.header ? unquoted(field, scratch) : std::string_view());
      if (name.empty()) name = std::string(1, 'c').append(std::to_string(columns_.size() + 1));
      if (utf8_fault(name) != std::string_view::npos)
        throw std::invalid_argument("the name of column " + std::to_string(columns_.size() + 1) +
                                    " is not UTF-8 (if the file is Latin-1: iconv -f latin1 -t utf8 FILE)");
      if (!places_.emplace(name, columns_.size()).second)
        throw std::invalid_argument(quoted(name) + " is the name of two columns");
      columns_.push_back(std::move(name));
    }
    if (fields.fault() != nullptr)
      throw std::invalid_argument(std::string(fields.fault()) + " in the first line, at byte " + std::to_string(fields.at() + 1));
    plan();
  }

  const std::vector<std::string>& columns() const { return columns_; }

  // Add the record as a row. Return false if it is malformed; then `bad` is the reason and the place (its column counts the bytes
  // of the record, also over several lines), and the chunk does not change. A blank record is skipped.
  bool parse(std::string_view record, std::int64_t line, Chunk& chunk, Bad& bad) const {
    const std::string_view bare = bare_record(record, line);
    if (has_no_field(bare)) return true;
    const auto fail_at = [&](const char* at) {
      chunk.drop_row();
      bad.line = line;
      bad.column = at - record.data() + 1;
      return false;
    };
    const auto fail = [&](const char* at, BadKind kind, std::string what) {
      set(bad, kind, std::move(what));
      return fail_at(at);
    };
    Row row(chunk, names_may_meet_);
    static thread_local std::vector<Span> spans;  // the features of each column, for the interactions
    spans.clear();
    std::string_view label;
    std::size_t c = 0;
    Fields fields(bare, options_.separator);
    for (Field field; fields.next(field); ++c) {
      if (c == columns_.size())
        return fail(bare.data() + field.begin, BadKind::fields, "more fields than the " + std::to_string(c) + " columns");
      const std::size_t before = row.size();
      if (!add_field(field, c, row, label, bad))
        return fail_at(bad.kind == BadKind::not_utf8 ? field.text.data() + utf8_fault(field.text) : bare.data() + field.begin);
      if (!interact_.empty()) spans.push_back({before, row.size()});
    }
    if (fields.fault() != nullptr) return fail(bare.data() + fields.at(), BadKind::syntax, fields.fault());
    if (c < columns_.size())
      return fail(bare.data() + bare.size(), BadKind::fields,
                  std::to_string(c) + " fields, but " + std::to_string(columns_.size()) + " columns");
    for (const auto& [a, b] : interact_)
      if (!add_products(spans[a], spans[b], row, bad)) return fail_at(bare.data());
    chunk.end_row(label, line, row.weight);
    return true;
  }

 private:
  enum class Role { plain, label, weight, ignored, text, categorical };
  struct Plan {
    Role role = Role::plain;
    bool automatic = false;
    std::string equals, tilde;  // `column=` and `column~`
  };
  struct Names {
    const std::string& column;
    const Plan& plan;
    std::string_view name() const { return column; }
    std::string_view equals() const { return plan.equals; }
    std::string_view tilde() const { return plan.tilde; }
  };
  struct Span {
    std::size_t begin, end;
  };

  bool has_no_field(std::string_view bare) const {
    return bare.find_first_not_of(blanks(options_.separator)) == std::string_view::npos;
  }

  bool is_missing(std::string_view text) const {
    return std::find(options_.missing.begin(), options_.missing.end(), text) != options_.missing.end();
  }

  // Set what is wrong, and return false. The place is set by `parse`.
  static bool set(Bad& bad, BadKind kind, std::string what, std::string_view feature = {}, std::string_view value = {}) {
    bad.kind = kind;
    bad.what = std::move(what);
    bad.feature = feature;
    bad.value = value;
    return false;
  }

  // Add the features of a field. Return false if it is malformed; then `bad` is the reason, without the place.
  bool add_field(const Field& field, std::size_t c, Row& row, std::string_view& label, Bad& bad) const {
    const Plan& plan = plan_[c];
    static thread_local std::string scratch;
    if (plan.role == Role::ignored) return true;
    const std::string_view text = unquoted(field, scratch);
    if (plan.role == Role::weight)
      return read_weight(text, row.weight) || set(bad, BadKind::value, not_a_weight(text), columns_[c], text);
    if (plan.automatic) return add_cell(text, c, row, bad);
    if (is_missing(text)) return true;
    if (plan.role == Role::plain) {
      double value = 0;
      const Kind kind = read_number(text, value);
      if (kind == Kind::not_finite) return not_finite(text, c, bad);
      if (kind == Kind::number && bins_.wanted()) return add_category(bins_.name(plan.equals, value, row.arena()), row, bad);
      if (kind == Kind::number) {
        const bool left_out = value == 0 && !options_.zeros;
        return left_out || row.add(columns_[c], value) || twice(columns_[c], bad);
      }
    }
    if (utf8_fault(text) != std::string_view::npos) return set(bad, BadKind::not_utf8, "not UTF-8", columns_[c]);
    if (plan.role == Role::label) {
      label = field.has_doubled ? row.arena().join(text, "") : text;
    } else if (plan.role == Role::text) {
      row.begin_text();
      if (!words_.add(text, plan.equals, plan.tilde, row))
        return set(bad, BadKind::repeated, "a word of column " + quoted(columns_[c]) + " is given twice", columns_[c]);
    } else {
      return add_category(row.arena().join(plan.equals, text), row, bad);
    }
    return true;
  }

  bool add_cell(std::string_view text, std::size_t c, Row& row, Bad& bad) const {
    switch (cells_.add(text, Names{columns_[c], plan_[c]}, row)) {
      case Added::yes: return true;
      case Added::repeated: return set(bad, BadKind::repeated, "a feature of column " + quoted(columns_[c]) + " is given twice", columns_[c]);
      case Added::not_finite: return not_finite(text, c, bad);
      case Added::not_utf8: break;
    }
    return set(bad, BadKind::not_utf8, "not UTF-8", columns_[c]);
  }

  bool not_finite(std::string_view text, std::size_t c, Bad& bad) const {
    return set(bad, BadKind::value, quoted(text) + " in column " + quoted(columns_[c]) + " is not finite", columns_[c], text);
  }

  static bool add_category(std::string_view name, Row& row, Bad& bad) { return row.add(name, 1) || twice(name, bad); }

  bool add_products(Span a, Span b, Row& row, Bad& bad) const {
    for (std::size_t i = a.begin; i < a.end; ++i) {
      for (std::size_t k = b.begin; k < b.end; ++k) {
        const double value = row.chunk().value[i] * row.chunk().value[k];
        if (value == 0) continue;  // the product underflows
        const std::string_view name = row.arena().join(row.chunk().name[i], "*", row.chunk().name[k]);
        if (!std::isfinite(value)) return set(bad, BadKind::value, quoted(name) + " is not finite", name);
        if (!row.add(name, value)) return twice(name, bad);
      }
    }
    return true;
  }

  static bool twice(std::string_view name, Bad& bad) {
    return set(bad, BadKind::repeated, quoted(name) + " is given twice", name);
  }

  void plan() {
    plan_.assign(columns_.size(), Plan{});
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      plan_[c].equals = columns_[c] + "=";
      plan_[c].tilde = columns_[c] + "~";
    }
    if (!options_.label.empty()) assign(options_.label, Role::label);
    if (!options_.weight.empty()) assign(options_.weight, Role::weight);
    for (const std::string& name : options_.ignore) assign(name, Role::ignored);
    for (const std::string& name : options_.text) assign(name, Role::text);
    for (const std::string& name : options_.categorical) assign(name, Role::categorical);
    interact_.clear();
    for (const auto& [first, second] : options_.interact) {
      const std::pair pair(find(first), find(second));
      for (const std::size_t c : {pair.first, pair.second})
        if (plan_[c].role == Role::label || plan_[c].role == Role::weight || plan_[c].role == Role::ignored)
          throw std::invalid_argument("the column " + quoted(columns_[c]) +
                                      " cannot interact, because it is the label, the weight or an ignored column");
      if (pair.first == pair.second)
        throw std::invalid_argument("the column " + quoted(first) + " cannot interact with itself");
      if (std::find(interact_.begin(), interact_.end(), pair) != interact_.end())
        throw std::invalid_argument("the interaction of " + quoted(first) + " and " + quoted(second) + " is set twice");
      interact_.push_back(pair);
    }
    // Options for a column replace what its cells mean without options. A column that interacts keeps the values of its numbers.
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const auto is_c = [c](const auto& pair) { return pair.first == c || pair.second == c; };
      plan_[c].automatic =
          options_.automatic && plan_[c].role == Role::plain && std::none_of(interact_.begin(), interact_.end(), is_c);
    }
    // The name of a feature begins with its column, up to the first = * ~ or :. Hence two names of a row can be equal only if the
    // name of a column contains one of these characters. Otherwise rows need not be checked.
    const char* const ends = options_.automatic ? "=*~:" : "=*~";
    names_may_meet_ = std::any_of(columns_.begin(), columns_.end(), [ends](const std::string& name) {
      return name.find_first_of(ends) != std::string::npos;
    });
  }

  void assign(const std::string& name, Role role) {
    Role& now = plan_[find(name)].role;
    if (now != Role::plain && now != role)
      throw std::invalid_argument("the column " + quoted(name) + " has two roles: label, weight, ignore, text and categorical exclude each other");
    now = role;
  }

  std::size_t find(const std::string& name) const {
    if (const auto found = places_.find(name); found != places_.end()) return found->second;
    std::size_t number = 0;
    const char* const end = name.data() + name.size();
    if (const auto read = std::from_chars(name.data(), end, number); read.ec == std::errc() && read.ptr == end)
      if (number >= 1 && number <= columns_.size()) return number - 1;
    constexpr std::size_t most = 50;  // limit of the columns that the message lists
    std::string all;
    for (std::size_t c = 0; c < std::min(most, columns_.size()); ++c) all.append(c == 0 ? "" : ", ").append(columns_[c]);
    if (columns_.size() > most) all.append(", … (").append(std::to_string(columns_.size() - most)).append(" more)");
    const char* const hint = name.find(',') == std::string::npos ? "" : "; for several columns, repeat the option";
    throw std::invalid_argument("there is no column " + quoted(name) + "; the columns are: " + all + hint);
  }

  TableOptions options_;
  Words words_;
  Bins bins_;
  Cells cells_;  // refers to words_ and bins_
  std::vector<std::string> columns_;
  std::unordered_map<std::string, std::size_t> places_;  // positions of the columns, by name
  std::vector<Plan> plan_;
  std::vector<std::pair<std::size_t, std::size_t>> interact_;
  bool names_may_meet_ = false;
};

}  // namespace mistakebound::formats
