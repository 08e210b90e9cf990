// The options of a table, and their detection from the first lines of the table.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "read/fields.hpp"

namespace mistakebound::formats {

// An option specifies a column by its name or, if no column has that name, by its number, counted from 1.
struct TableOptions {
  char separator = ',';
  bool header = true;
  std::string label;   // empty: no column is the label
  std::string weight;  // empty: all rows have the weight 1
  std::vector<std::string> ignore, text, categorical;
  int words = 1;       // n-grams of a text of up to this many words
  int letters = 0;     // n-grams of a text of exactly this many characters; 0: none
  int bins = 0;        // numbers as categories (bins.hpp); 0: as numbers
  bool zeros = false;  // whether a zero is a feature, so that it can be distinguished from a missing value
  bool automatic = false;  // whether columns without a role are read by cells.hpp
  std::vector<std::pair<std::string, std::string>> interact;
  std::vector<std::string> missing = {"", "?", "NA", "nan", "NaN", "null"};
};

class Sniffer {
 public:
  // The separator is the one of tab , ; space for which the most of the first records have as many fields as the first record,
  // and at least two. The first of them wins a tie. The default is a comma.
  static TableOptions sniff(std::string_view beginning) {
    TableOptions options;
    Records best;
    for (const char separator : {'\t', ',', ';', ' '}) {
      Records records = read(beginning, separator);
      if (records.empty() || records[0].size() < 2 || records.size() <= best.size()) continue;
      options.separator = separator;
      best = std::move(records);
    }
    if (best.empty()) best = read(beginning, options.separator);
    options.header = has_header(best, options.missing);
    return options;
  }

 private:
  using Records = std::vector<std::vector<std::string>>;
  static constexpr std::size_t enough = 100;

  // Those of the first records that have as many fields as the first record.
  static Records read(std::string_view text, char separator) {
    Records records;
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    std::string scratch;
    for (std::size_t seen = 0; seen < enough && !text.empty(); ++seen) {
      std::size_t size = end_of_record(text, separator, false);
      if (size == 0) size = text.size();  // the last record may be incomplete; it counts if it has all fields
      std::vector<std::string> record;
      Fields fields(bare_record(text.substr(0, size), 0), separator);
      for (Field field; fields.next(field);) record.emplace_back(unquoted(field, scratch));
      text.remove_prefix(size);
      const bool blank = record.empty() || (record.size() == 1 && record[0].empty());
      if (!blank && fields.fault() == nullptr && (records.empty() || record.size() == records[0].size()))
        records.push_back(std::move(record));
    }
    return records;
  }

  // The first record is a header if none of its fields is a number, none is missing (the very first may be empty, as pandas
  // writes it), none occurs again in its column, and
  //   - one of the columns has only numbers below it, or
  //   - the fields are distinct, there are at least five more records, and values repeat in at least three columns, in which
  //     the first field does not.
  static bool has_header(const Records& records, const std::vector<std::string>& missing) {
    if (records.size() < 2) return false;
    const std::vector<std::string>& first = records[0];
    const auto is_missing = [&](const std::string& field) {
      return std::find(missing.begin(), missing.end(), field) != missing.end();
    };
    bool numbers_below = false;
    int repeating = 0;
    for (std::size_t c = 0; c < first.size(); ++c) {
      double value;
      if (read_number(first[c], value) == Kind::number) return false;
      if (is_missing(first[c]) && !(c == 0 && first[c].empty())) return false;
      std::set<std::string_view> below;
      std::size_t present = 0, numbers = 0;
      for (std::size_t r = 1; r < records.size(); ++r) {
        if (is_missing(records[r][c])) continue;
        ++present;
        numbers += read_number(records[r][c], value) == Kind::number ? 1 : 0;
        below.insert(records[r][c]);
      }
      if (below.contains(first[c])) return false;
      numbers_below = numbers_below || (present > 0 && numbers == present);
      repeating += below.size() < present ? 1 : 0;
    }
    const bool distinct = std::set<std::string_view>(first.begin(), first.end()).size() == first.size();
    return numbers_below || (distinct && records.size() > 5 && repeating >= 3);
  }
};

}  // namespace mistakebound::formats
