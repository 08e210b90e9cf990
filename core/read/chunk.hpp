// Parsed rows of a file: a parser writes them, and a learner reads them. Independent of Python and of files.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "names/names.hpp"
#include "play/repeats.hpp"
#include "read/buffer.hpp"

namespace mistakebound {

// Memory for texts. They do not move until the arena is cleared.
class Arena {
 public:
  std::string_view join(std::string_view a, std::string_view b, std::string_view c = {}) {
    char* const to = take(a.size() + b.size() + c.size());
    char* at = to;
    for (const std::string_view each : {a, b, c})
      if (!each.empty()) at = static_cast<char*>(std::memcpy(at, each.data(), each.size())) + each.size();
    return {to, a.size() + b.size() + c.size()};
  }
  std::string_view copy(std::string_view text) { return join(text, {}); }

  void clear() {
    if (blocks_.size() > 1) blocks_.erase(blocks_.begin() + 1, blocks_.end());
    used_ = 0;
    if (!blocks_.empty()) room_ = first_;
  }

 private:
  static constexpr std::size_t first_ = std::size_t{1} << 16;

  char* take(std::size_t bytes) {
    if (blocks_.empty() || used_ + bytes > room_) {
      room_ = bytes > first_ ? bytes : first_;
      blocks_.push_back(std::make_unique<char[]>(room_));
      used_ = 0;
    }
    char* const at = blocks_.back().get() + used_;
    used_ += bytes;
    return at;
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t used_ = 0, room_ = 0;
};

// Why a line is bad. `zero_index`: an index is 0, but indices count from 1. `no_label`: a line of svmlight begins with a feature.
// The cache stores these numbers: add a kind only at the end.
enum class BadKind : std::uint8_t { syntax, not_utf8, label, no_label, index, zero_index, value, repeated, fields };
inline constexpr BadKind last_bad_kind = BadKind::fields;

// An error in a line. Lines and columns (in bytes) count from 1. `feature` and `value` are as written in the line, and empty if
// the error is not about one of them; for a table, `feature` is a column if the error is in one field.
struct Bad {
  std::int64_t line = 0, column = 0;
  BadKind kind = BadKind::syntax;
  std::string what, feature, value;
};

// Rows in CSR form. A format with indices fills `index`. A format with names fills `name` or, which is faster, only `key`: the
// key of a short name contains the name, and longer names are in `long_name`. `value` may be empty if all values are 1. Then a
// word of a text takes 16 bytes instead of 40, which matters because a chunk passes from the cache of one core to another.
struct Chunk {
  Buffer<std::int64_t> indptr{0};
  Buffer<std::int32_t> index;
  Buffer<std::string_view> name;  // views of the parsed text, or of `arena`
  Buffer<double> value;
  // The key of each name, and whether all values are 1, as for words (see prepare).
  Buffer<Key> key;
  bool all_ones = false;
  struct LongName {
    std::size_t at;  // number of the feature
    std::string_view name;
  };
  Buffer<LongName> long_name;
  // For each row, the position of its label in `labels`, the different labels of the chunk. They are stored as written, and
  // empty if a line has none. If there are more than `other` labels, the id of the rest is `other`, and they are in
  // `other_labels`.
  static constexpr std::size_t other = 255;
  std::string label_ids;
  std::vector<std::string_view> labels, other_labels;
  // For rows with a weight that is not 1, or with a tag (VW).
  struct Remark {
    std::size_t row;
    double importance;
    std::string_view tag;
  };
  std::vector<Remark> remarks;
  Buffer<std::int64_t> line;  // number of the first line of each row
  std::int32_t largest_index = -1;
  Arena arena;
  Buffer<char> text;  // the parsed text, if this chunk must keep it

  std::size_t rows() const { return label_ids.size(); }
  std::size_t row_begin() const { return static_cast<std::size_t>(indptr.back()); }
  std::size_t features() const { return std::max(key.size(), value.size()); }

  std::string_view name_of(std::size_t feature) const {
    if (!name.empty()) return name[feature];
    if (key[feature].is_name()) return key[feature].name();
    return std::lower_bound(long_name.begin(), long_name.end(), feature,
                            [](const LongName& each, std::size_t wanted) { return each.at < wanted; })
        ->name;
  }
  double value_of(std::size_t feature) const { return value.empty() ? 1 : value[feature]; }
  std::string_view label_of(std::size_t row) const {
    const auto id = static_cast<unsigned char>(label_ids[row]);
    if (id != other) return labels[id];
    const auto position = label_ids.begin() + static_cast<std::ptrdiff_t>(row);
    return other_labels[static_cast<std::size_t>(std::count(label_ids.begin(), position, label_ids[row]))];
  }
  Remark remark_of(std::size_t row) const {
    const auto found = std::find_if(remarks.begin(), remarks.end(), [row](const Remark& each) { return each.row == row; });
    return found == remarks.end() ? Remark{row, 1, {}} : *found;
  }

  // The weight of each row.
  std::vector<double> weights() const {
    std::vector<double> all(rows(), 1.0);
    for (const Remark& each : remarks)
      if (each.row < all.size()) all[each.row] = each.importance;
    return all;
  }

  // Add a feature of a namespace, which may be empty. It cannot be combined with filling `name`.
  void add(std::string_view space, std::string_view feature, double number) {
    const std::size_t at = key.size();
    if (number != 1 && value.empty()) {
      value.resize(at);
      std::fill(value.begin(), value.end(), 1.0);
    }
    if (number != 1 || !value.empty()) value.push_back(number);
    if (!space.empty()) feature = arena.join(space, "^", feature);
    key.push_back(Key(feature));
    if (!key.back().is_name()) long_name.push_back({at, space.empty() ? arena.copy(feature) : feature});
  }

  // End the row of the features that were added last. `drop_row` removes them instead.
  void end_row(std::string_view label, std::int64_t line_number, double importance = 1, std::string_view tag = {}) {
    // Rows in which all values are 1 are common (words), and few of them cause an update. They are summed only then.
    if (key.size() > row_begin() && !is_of_ones(row_begin(), key.size())) sum_repeated_names(row_begin());
    if (importance != 1 || !tag.empty()) remarks.push_back({rows(), importance, arena.copy(tag)});
    indptr.push_back(static_cast<std::int64_t>(features()));
    label_ids.push_back(id_of(label));
    line.push_back(line_number);
  }
  void drop_row() {
    const std::size_t begin = row_begin();
    const auto back_to = [begin](auto& items) {
      if (items.size() > begin) items.resize(begin);
    };
    back_to(index), back_to(name), back_to(key), back_to(value);
    while (!long_name.empty() && long_name.back().at >= begin) long_name.resize(long_name.size() - 1);
  }

  // Compute the keys of names that have none.
  void make_keys() {
    for (std::size_t k = key.size(); k < name.size(); ++k) key.push_back(Key(name[k]));
  }
  // Call this for named features after the last row, in the thread that parses. The thread that learns then reads little more
  // than the keys, because data that another core has just written is slow to read. `parsed` must be true for rows from a
  // parser, which has summed repeated names. Rows from a cache are checked for them.
  void prepare(bool parsed = false) {
    make_keys();
    for (std::size_t r = 0; r < rows() && !parsed; ++r) {
      const auto begin = static_cast<std::size_t>(indptr[r]), end = static_cast<std::size_t>(indptr[r + 1]);
      if (!is_of_ones(begin, end) && repeated_name(begin, end) != end)
        throw std::invalid_argument(
            "the cache is damaged (a row has the same feature twice): delete it; the next run writes it again");
    }
    all_ones = std::all_of(value.begin(), value.end(), [](double each) { return each == 1; });
  }

  void clear() {
    indptr.clear();
    indptr.push_back(0);
    index.clear();
    name.clear();
    key.clear();
    long_name.clear();
    all_ones = false;
    value.clear();
    label_ids.clear();
    labels.clear();
    other_labels.clear();
    remarks.clear();
    line.clear();
    largest_index = -1;
    arena.clear();
    text.clear();
  }

  // Whether all values of the row with the features `begin` to `end` are 1.
  bool is_of_ones(std::size_t begin, std::size_t end) const {
    return value.empty() || std::all_of(value.data() + begin, value.data() + end, [](double each) { return each == 1; });
  }
  // The first of these features with the name of an earlier one, or `end`.
  std::size_t repeated_name(std::size_t begin, std::size_t end) const {
    const auto hash = [&](std::size_t k) { return key[begin + k].hash; };
    const auto same = [&](std::size_t a, std::size_t b) {
      return key[begin + a] == key[begin + b] && name_of(begin + a) == name_of(begin + b);
    };
    return begin + first_repeated(end - begin, hash, same);
  }

 private:
  // Sum the repeated names of the last row, whose features begin at `begin`.
  void sum_repeated_names(std::size_t begin) {
    Key* const keys = key.data();
    const auto hash = [keys](std::size_t k) { return keys[k].hash; };
    const auto hash_in_row = [row = keys + begin](std::size_t k) { return row[k].hash; };
    if (!thread_instance<Filter>().may_repeat(key.size() - begin, hash_in_row)) [[likely]]
      return;
    std::size_t longer = long_name.size();  // where the long names of this row begin
    while (longer > 0 && long_name[longer - 1].at >= begin) --longer;
    const bool only_keys = longer == long_name.size();
    // Long names move with their features. Their new positions are stored at the end.
    static thread_local std::vector<std::string_view> names;
    names.assign(only_keys ? 0 : key.size() - begin, {});
    for (std::size_t k = longer; k < long_name.size(); ++k) names[long_name[k].at - begin] = long_name[k].name;
    std::string_view* const row_names = names.data();
    double* values = value.empty() ? nullptr : value.data();
    const std::size_t end = sum_repeated(
        begin, key.size(), hash,
        [&](std::size_t a, std::size_t b) {
          return keys[a] == keys[b] && (only_keys || row_names[a - begin] == row_names[b - begin]);
        },
        [&](std::size_t first, std::size_t k) {
          if (values == nullptr) {  // all values were 1 so far
            value.resize(key.size());
            std::fill(value.begin(), value.end(), 1.0);
            values = value.data();
          }
          return values[first] += values[k];
        },
        [&](std::size_t k) { return values[k]; },
        [&](std::size_t from, std::size_t to) {
          keys[to] = keys[from];
          values[to] = values[from];
          if (!only_keys) row_names[to - begin] = row_names[from - begin];
        });
    key.resize(end);
    if (!value.empty()) value.resize(end);
    if (only_keys) return;
    long_name.resize(longer);
    for (std::size_t k = begin; k < end; ++k)
      if (!key[k].is_name()) long_name.push_back({k, names[k - begin]});
  }

  // The id of a label. A new label is copied, because the text may not be kept.
  char id_of(std::string_view label) {
    const auto id = static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
    if (id == labels.size()) (id < other ? labels : other_labels).push_back(arena.copy(label));
    return static_cast<char>(static_cast<unsigned char>(std::min(id, other)));
  }
};

}  // namespace mistakebound
