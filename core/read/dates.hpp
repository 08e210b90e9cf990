// Dates and times of day, as tables contain them: the extended form of ISO 8601.
#pragma once
#include <cstdint>
#include <string_view>

#include "read/numbers.hpp"

namespace mistakebound::formats {

// A date of the years 1 to 9999 (Gregorian calendar), a time of day, or both, as written: a zone is not converted.
struct Moment {
  bool has_date = false, has_time = false;
  int year = 0, month = 0, day = 0;
  int seconds = 0;  // since midnight

  int hour() const { return seconds / 3600; }

  // The number of days since 2020-01-01, after the algorithm days_from_civil of Howard Hinnant: years begin in March, so that a
  // leap day is the last day of a year.
  std::int64_t days() const {
    const int y = month > 2 ? year : year - 1, era = y / 400, year_of_era = y - 400 * era;
    const int day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    const int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return std::int64_t{era} * 146097 + day_of_era - 737730;
  }

  // 0 is Monday.
  int weekday() const { return static_cast<int>((days() % 7 + 7 + 2) % 7); }  // 2020-01-01 is a Wednesday
};

// Parses one of
//   2024-03-01 or 2024/3/1         year, month and day: a form in which the day cannot be mistaken for the month
//   13:45, 13:45:30, 13:45:30.125  hours with two digits; ',' may stand for '.'
//   a date and a time              with one T or space between them
// A time may end with a zone: Z, UTC, GMT, +01, +0100, +01:00, also after a space.
class MomentReader {
 public:
  explicit MomentReader(std::string_view text) : text_(text) {}

  // Whether all of the text is a valid date or time.
  bool read(Moment& moment) {
    if (text_.size() < shortest || text_.size() > longest || !is_digit(text_[0])) return false;
    if (text_[2] == ':') return time(moment) && at_ == text_.size();
    if (!date(moment)) return false;
    if (at_ == text_.size()) return true;
    return (take('T') || take('t') || take(' ')) && time(moment) && at_ == text_.size();
  }

 private:
  static constexpr std::size_t shortest = 5, longest = 48;

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char wanted) {
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view wanted) {
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }
  // A number with `least` to `most` digits, from `lowest` to `highest`.
  bool number(int least, int most, int lowest, int highest, int& value) {
    value = 0;
    int digits = 0;
    for (; digits < most && is_digit(peek()); ++digits) value = 10 * value + (text_[at_++] - '0');
    return digits >= least && value >= lowest && value <= highest;
  }

  bool date(Moment& moment) {
    if (!number(4, 4, 1, 9999, moment.year)) return false;
    const char between = peek();
    if (between != '-' && between != '/') return false;
    ++at_;
    if (!number(1, 2, 1, 12, moment.month) || !take(between) || !number(1, 2, 1, last_day(moment.year, moment.month), moment.day))
      return false;
    return moment.has_date = true;
  }
  static int last_day(int year, int month) {
    if (month != 2) return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
  }

  bool time(Moment& moment) {
    int hour = 0, minute = 0, second = 0;
    if (!number(2, 2, 0, 23, hour) || !take(':') || !number(2, 2, 0, 59, minute)) return false;
    if (take(':')) {
      if (!number(2, 2, 0, 60, second)) return false;  // 60 is a leap second
      if (take('.') || take(',')) {
        if (!is_digit(peek())) return false;
        while (is_digit(peek())) ++at_;
      }
    }
    moment.seconds = 3600 * hour + 60 * minute + second;
    moment.has_time = true;
    return zone();
  }
  bool zone() {
    if (at_ == text_.size()) return true;
    take(' ');
    if (take('Z') || take('z') || take("UTC") || take("GMT")) return true;
    int part = 0;
    if (!(take('+') || take('-')) || !number(2, 2, 0, 23, part)) return false;
    if (at_ == text_.size()) return true;
    const bool colon = take(':');
    if (!number(2, 2, 0, 59, part)) return false;
    return !(colon && take(':')) || number(2, 2, 0, 59, part);  // seconds, in local mean time of the 19th century
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace mistakebound::formats
