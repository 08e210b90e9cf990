// What a cell of a table means without options. It depends on the text of the cell only, so that the same table gives the same
// features in every format, in one piece or row by row.
#pragma once
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "play/example.hpp"
#include "read/bins.hpp"
#include "read/dates.hpp"
#include "read/row.hpp"
#include "read/words.hpp"

namespace mistakebound::formats {

// A cell of the column c becomes features as follows:
//   number         the feature `c` with the value scaled(number), or `c=bin` if bins are wanted (bins.hpp)
//   missing        the feature `c=`; so are "", ?, NA, N/A, n/a, <NA>, #N/A, nan, NaN, null, NULL, None and NaT
//   date           `c:weekday=Mon`, `c:month=Jan`, and `c:trend`, the decades since 2020; `c:hour=13` if it has a time other
//                  than midnight, which stands for no time, because many programs write dates with it
//   time of day    `c:hour=13`, and `c:time`, a fraction of the day
//   one word       `c=word`, in lower case (ASCII); without .,;:?"() around it, if the rest is a word of words.hpp. Thus it is
//                  the same feature as this word of a longer text. Also for other text without white space: `c=a.example`.
//   text           with white space inside: its words (words.hpp) and, if it has at most 4 pieces, all of it: `c=new york`
// true and false are words.
enum class Added { yes, repeated, not_finite, not_utf8 };

class Cells {
 public:
  Cells(const Words& words, const Bins& bins) : words_(words), bins_(bins) {}

  // Numbers beyond 2 grow like 1 + log2|x|, between two powers of two linearly: 4 gives 3, 6 gives 3.5, 8 gives 4. So numbers of
  // any size have values that a linear rule can learn, in exact arithmetic. Numbers up to 2 do not change.
  static double scaled(double number) {
    if (std::fabs(number) <= 2) return number;
    const auto bits = std::bit_cast<std::uint64_t>(std::fabs(number));
    const auto exponent = static_cast<double>(static_cast<int>(bits >> 52) - 1023);
    const double fraction = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);  // from 1 up to 2
    return std::copysign(exponent + fraction, number);
  }

  // Add the features of a cell. `names` has the functions name(), equals() and tilde(): `c`, `c=` and `c~`.
  template <class Names>
  Added add(std::string_view text, const Names& names, Row& row) const {
    text = trimmed(text);
    double number = 0;
    const Kind kind = read_number(text, number);
    if (kind == Kind::number) return add_number(number, names, row);
    if (kind == Kind::not_finite && !std::isnan(number)) return Added::not_finite;
    if (kind == Kind::not_finite || is_missing(text)) return add_missing(names, row);
    if (utf8_fault(text) != std::string_view::npos) return Added::not_utf8;
    Moment moment;
    if (MomentReader(text).read(moment)) return add_moment(moment, names, row);
    return add_text(text, names, row);
  }

  // Values too small to be learned count as 0, which is not a feature.
  template <class Names>
  Added add_number(double number, const Names& names, Row& row) const {
    if (bins_.wanted()) return added(row.add(bins_.name(names.equals(), number, row.arena()), 1));
    return std::fabs(number) < smallest_learnable ? Added::yes : added(row.add(names.name(), scaled(number)));
  }

  template <class Names>
  Added add_missing(const Names& names, Row& row) const {
    return added(row.add(names.equals(), 1));
  }

 private:
  static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  static std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
  }

  static Added added(bool is_new) { return is_new ? Added::yes : Added::repeated; }

  static bool is_missing(std::string_view text) {
    static constexpr std::string_view all[] = {"", "?", "NA", "N/A", "n/a", "<NA>", "#N/A", "null", "NULL", "None", "NaT"};
    const bool may_be = text.size() <= 4 && (text.empty() || std::string_view("?Nn<#").find(text[0]) != std::string_view::npos);
    return may_be && std::find(std::begin(all), std::end(all), text) != std::end(all);
  }

  template <class Names>
  Added add_moment(const Moment& moment, const Names& names, Row& row) const {
    static constexpr std::string_view weekdays[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    static constexpr std::string_view months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    constexpr double days_of_decade = 3652.425;
    const double time = moment.seconds / 86400.0;
    const auto category = [&](std::string_view part, std::string_view value) {
      return row.add(row.arena().join(names.name(), part, value), 1);
    };
    const auto number = [&](std::string_view part, double value) {
      const Part its{names, row, part};
      return add_number(value, its, row) == Added::yes;
    };
    if (moment.has_date) {
      const bool is_new = category(":weekday=", weekdays[moment.weekday()]) && category(":month=", months[moment.month - 1]) &&
                          number(":trend", (static_cast<double>(moment.days()) + time) / days_of_decade);
      if (!is_new) return Added::repeated;
      if (moment.seconds == 0) return Added::yes;
    } else if (!number(":time", time)) {
      return Added::repeated;
    }
    char hour[2];
    const char* const end = std::to_chars(hour, hour + sizeof hour, moment.hour()).ptr;
    return added(category(":hour=", {hour, static_cast<std::size_t>(end - hour)}));
  }

  // The names of a number that is a part of a date.
  template <class Names>
  struct Part {
    const Names& column;
    Row& row;
    std::string_view part;
    std::string_view name() const { return row.arena().join(column.name(), part); }
    std::string_view equals() const { return row.arena().join(column.name(), part, "="); }
  };

  template <class Names>
  Added add_text(std::string_view text, const Names& names, Row& row) const {
    static thread_local std::string whole;
    const std::size_t pieces = lower(text, whole);
    if (pieces <= 1) return added(row.add(row.arena().join(names.equals(), bare_word(whole)), 1));
    row.begin_text();
    if (!words_.add(text, names.equals(), names.tilde(), row)) return Added::repeated;
    constexpr std::size_t most_pieces = 4;
    return added(pieces > most_pieces || row.add_word(row.arena().join(names.equals(), whole)));
  }

  // Convert to lower case, with one space between two pieces. Return the number of pieces.
  static std::size_t lower(std::string_view text, std::string& out) {
    out.resize(text.size());
    std::size_t pieces = 0, size = 0;
    bool inside = false;
    for (const char c : text) {
      const bool blank = is_blank(c);
      if (!blank && !inside && pieces++ > 0) out[size++] = ' ';
      if (!blank) out[size++] = Words::lowered(c);
      inside = !blank;
    }
    out.resize(size);
    return pieces;
  }

  static std::string_view bare_word(std::string_view piece) {
    static constexpr std::string_view around = ".,;:?\"()";
    const auto is_around = [](char c) { return around.find(c) != std::string_view::npos; };
    if (!is_around(piece.front()) && !is_around(piece.back())) return piece;
    const std::size_t begin = piece.find_first_not_of(around);
    if (begin == std::string_view::npos) return piece;
    const std::string_view bare = piece.substr(begin, piece.find_last_not_of(around) + 1 - begin);
    return std::all_of(bare.begin(), bare.end(), Words::is_word_character) ? bare : piece;
  }

  const Words& words_;
  const Bins& bins_;
};

}  // namespace mistakebound::formats
