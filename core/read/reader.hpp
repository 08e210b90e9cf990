// Parse text into chunks: choose the format, find where records end, and map the labels of the rows to two.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "read/chunk.hpp"
#include "read/csv.hpp"
#include "read/jsonl.hpp"
#include "read/svmlight.hpp"
#include "read/vw.hpp"

namespace mistakebound {

// Chunks that were read and learned: their memory is there already, while new memory is paged in bit by bit. Each goes back
// to the thread that filled it, if that asks: what nobody else has read is still in the cache of its processor.
class Spares {
 public:
  Chunk take() {
    const std::lock_guard lock(mutex_);
    if (spares_.empty()) return {};
    const auto own = std::find_if(spares_.begin(), spares_.end(), [](const Spare& each) { return each.filled_by == here(); });
    const auto taken = own == spares_.end() ? std::prev(own) : own;
    Chunk chunk = std::move(taken->chunk);
    spares_.erase(taken);
    return chunk;
  }
  void give(Chunk&& chunk, std::thread::id filled_by) {
    chunk.clear();
    const std::lock_guard lock(mutex_);
    if (spares_.size() < most) spares_.push_back({std::move(chunk), filled_by});
  }
  static std::thread::id here() { return std::this_thread::get_id(); }

 private:
  static constexpr std::size_t most = 8;
  struct Spare {
    Chunk chunk;
    std::thread::id filled_by;
  };
  std::mutex mutex_;
  std::vector<Spare> spares_;
};

// Some whole records of a text. Names point into that text: chunk.text, or the caller's, who must keep it.
struct Parsed {
  explicit Parsed(std::shared_ptr<Spares> from) : chunk(from->take()), spares(std::move(from)) {}
  ~Parsed() { spares->give(std::move(chunk), filled_by); }
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;

  Chunk chunk;
  std::shared_ptr<Spares> spares;
  const std::thread::id filled_by = Spares::here();
  bool named = false, weighted = false;  // whether features have names, and some row an importance other than 1
  std::size_t consumed = 0;  // bytes; the rest is the beginning of a record whose end is not there yet
  std::int64_t lines = 0;    // in what was consumed
  std::vector<Bad> bad;
  std::vector<std::int64_t> bad_row;  // how many rows came before each

  // The different names, in the order in which they come, and of each non-zero the place of its name among them.
  std::pair<std::vector<std::string_view>, std::vector<std::int32_t>> different_names() const {
    std::vector<std::string_view> names;
    std::vector<std::int32_t> ids(chunk.features());
    std::unordered_map<std::string_view, std::int32_t> places;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const auto [found, is_new] = places.try_emplace(chunk.name_of(k), static_cast<std::int32_t>(names.size()));
      if (is_new) names.push_back(chunk.name_of(k));
      ids[k] = found->second;
    }
    return {std::move(names), std::move(ids)};
  }
};

using Strings = std::vector<std::string>;

// Sets the options of a table's columns.
inline void set_columns(formats::TableOptions& options, std::string label, Strings ignore, Strings text, Strings categorical,
                        int words, int letters, int bins, std::vector<std::pair<std::string, std::string>> interact,
                        std::optional<Strings> missing, bool zeros = false) {
  options.label = std::move(label);
  options.ignore = std::move(ignore);
  options.text = std::move(text);
  options.categorical = std::move(categorical);
  options.words = words;
  options.letters = letters;
  options.bins = bins;
  options.interact = std::move(interact);
  if (missing) options.missing = std::move(*missing);
  options.zeros = zeros;
}

// Reads so many bytes of a file, from `begin` on. Returns 0, or what went wrong: a number of the system, or `too_short`.
inline constexpr int too_short = -1;
inline int read_at(int descriptor, std::int64_t begin, char* to, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const auto got = pread(descriptor, to + done, size - done, static_cast<off_t>(begin) + static_cast<off_t>(done));
    if (got < 0 && errno != EINTR) return errno;
    if (got == 0) return too_short;
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  return 0;
}
// A file could not be read: `error` is what read_at returned.
struct ReadError : std::runtime_error {
  explicit ReadError(int its_error) : std::runtime_error("a file could not be read"), error(its_error) {}
  int error;
};

// Of a file of `size` bytes: after the last newline between `begin` and `middle`; if there is none, after the first one that
// follows, or at the end.
inline std::int64_t end_of_line(int descriptor, std::int64_t begin, std::int64_t middle, std::int64_t size) {
  char text[2048];
  constexpr auto look = static_cast<std::int64_t>(sizeof text);
  const auto read = [&](std::int64_t from, std::int64_t to) {
    if (const int error = read_at(descriptor, from, text, static_cast<std::size_t>(to - from))) throw ReadError(error);
    return std::string_view(text, static_cast<std::size_t>(to - from));
  };
  for (std::int64_t to = middle; to > begin;) {
    const std::int64_t from = std::max(begin, to - look);
    if (const std::size_t newline = read(from, to).rfind('\n'); newline != std::string_view::npos)
      return from + static_cast<std::int64_t>(newline) + 1;
    to = from;
  }
  for (std::int64_t from = middle; from < size; from += look)
    if (const std::size_t newline = read(from, std::min(from + look, size)).find('\n'); newline != std::string_view::npos)
      return from + static_cast<std::int64_t>(newline) + 1;
  return size;
}

class Reader {
 public:
  Reader(const std::string& kind, bool zero_based, bool label_optional) {
    if (kind == "svmlight")
      format_ = Svmlight{zero_based, label_optional};
    else if (kind == "vw")
      format_ = VwText{};
    else
      throw std::invalid_argument("no format of lines without columns: " + kind);
  }

  // A table. Options that are not set are detected from `start`, which holds at least the first record.
  static Reader table(std::string_view start, std::string label, Strings ignore, Strings text, Strings categorical, int words,
                      int letters, int bins, std::vector<std::pair<std::string, std::string>> interact,
                      std::optional<std::string> separator, std::optional<bool> header, std::optional<Strings> missing,
                      bool zeros) {
    formats::TableOptions options = formats::Table::sniff(start);
    set_columns(options, std::move(label), std::move(ignore), std::move(text), std::move(categorical), words, letters, bins,
                std::move(interact), std::move(missing), zeros);
    if (separator && separator->size() != 1) throw std::invalid_argument("a separator is one character");
    if (separator) options.separator = separator->front();
    if (header) options.header = *header;
    const bool has_header = options.header;
    auto made = std::make_shared<formats::Table>(std::move(options));
    std::int64_t line = 1;
    while (!start.empty()) {
      const std::size_t size = made->record_end(start, true);
      if (!made->blank(start.substr(0, size), line++)) break;
      start.remove_prefix(size);
    }
    made->begin(start.substr(0, made->record_end(start, true)));
    return Reader(std::move(made), has_header);
  }

  static Reader json(std::string label, Strings ignore, Strings text, int words, int letters, int bins, bool zeros) {
    return Reader(std::make_shared<formats::JsonLines>(
        formats::JsonOptions{std::move(label), std::move(ignore), std::move(text), words, letters, bins, zeros}));
  }

  bool named() const {
    return std::visit([](const auto& format) { return std::decay_t<decltype(format)>::named; }, format_);
  }
  Strings columns() const {
    const auto* table = std::get_if<TableReader>(&format_);
    return table == nullptr ? Strings() : table->table->columns();
  }

  // Memory for a new chunk: that of one which is not needed any more, if there is one.
  const std::shared_ptr<Spares>& spares() const { return spares_; }

  // Parses all records that are whole; with `last`, also one that ends without a newline. Rows before a bad record and
  // after it are kept: the caller decides what a bad one means, and wants no more than `most_bad` of them. `first`: a
  // header may come. Several threads may parse with one reader.
  void parse(std::string_view text, bool last, std::size_t most_bad, bool first, Parsed& parsed) const {
    std::visit(
        [&](const auto& format) {
          make_room(format, text.size(), parsed.chunk);
          parsed.consumed = each_record(format, text, last, most_bad, first, parsed);
        },
        format_);
    finish(parsed);
  }

  // The same of some bytes of a file, which are read here: to map them costs more than to copy them. Without `keep_text` they
  // are read bit by bit to one place where they stay in the processor's own cache; what all processors share is then left to
  // the weights. Throws ReadError.
  void read(int descriptor, std::int64_t begin, std::size_t size, bool last, std::size_t most_bad, bool keep_text,
            Parsed& parsed) const {
    const auto read = [&](const auto& format) {
      return read_records(format, descriptor, begin, size, last, most_bad, keep_text, parsed);
    };
    if (const int error = std::visit(read, format_)) throw ReadError(error);
    finish(parsed);
  }

 private:
  static constexpr std::size_t piece_bytes = std::size_t{1} << 17;

  template <class Format>
  static void make_room(const Format& format, std::size_t text, Chunk& chunk) {
    if constexpr (requires { format.make_room(text, chunk); }) format.make_room(text, chunk);
  }
  void finish(Parsed& parsed) const {
    parsed.named = named();
    if (parsed.named) parsed.chunk.prepare(true);
    const auto& remarks = parsed.chunk.remarks;
    parsed.weighted = std::any_of(remarks.begin(), remarks.end(), [](const auto& each) { return each.importance != 1; });
  }

  // Returns 0, or what went wrong as of read_at.
  template <class Format>
  static int read_records(const Format& format, int descriptor, std::int64_t begin, std::size_t size, bool last,
                          std::size_t most_bad, bool keep_text, Parsed& parsed) {
    thread_local Buffer<char> piece;
    const bool whole = keep_text || Format::points_into_text;
    Buffer<char>& text = whole ? parsed.chunk.text : piece;
    make_room(format, size, parsed.chunk);
    std::size_t done = 0, rest = 0;  // bytes read, and of those, how many at the end are the beginning of a record
    while (done < size && parsed.bad.size() <= most_bad) {
      const std::size_t more = whole ? size : std::min(std::max(piece_bytes, rest), size - done);
      text.resize(rest + more);
      if (const int error = read_at(descriptor, begin + static_cast<std::int64_t>(done), text.data() + rest, more)) return error;
      done += more;
      const std::size_t used = each_record(format, {text.data(), text.size()}, last && done == size, most_bad, false, parsed);
      parsed.consumed += used;
      rest = text.size() - used;
      if (!whole) std::memmove(text.data(), text.data() + used, rest);
    }
    if (piece.capacity() > 4 * piece_bytes) piece = Buffer<char>();  // after a long line
    return 0;
  }

  struct TableReader {
    static constexpr bool named = true, points_into_text = true;  // names and values of columns
    std::shared_ptr<const formats::Table> table;
    bool header;

    std::size_t record_end(std::string_view text, bool last) const { return table->record_end(text, last); }
    bool parse(std::string_view record, std::ptrdiff_t, std::int64_t line, Chunk& chunk, Bad& bad) const {
      return table->parse(record, line, chunk, bad);
    }
    bool skips(std::string_view record, std::int64_t line) const { return header && !table->blank(record, line); }
  };
  struct JsonReader {
    static constexpr bool named = true, points_into_text = true;
    std::shared_ptr<const formats::JsonLines> lines;

    std::size_t record_end(std::string_view text, bool last) const { return lines->record_end(text, last); }
    bool parse(std::string_view record, std::ptrdiff_t, std::int64_t line, Chunk& chunk, Bad& bad) const {
      return lines->parse(record, line, chunk, bad);
    }
  };

  Reader(std::shared_ptr<const formats::Table> table, bool header) : format_(TableReader{std::move(table), header}) {}
  explicit Reader(std::shared_ptr<const formats::JsonLines> lines) : format_(JsonReader{std::move(lines)}) {}

  // How many bytes it has dealt with.
  template <class Format>
  static std::size_t each_record(const Format& format, std::string_view text, bool last, std::size_t most_bad, bool first,
                                 Parsed& parsed) {
    std::size_t at = 0;
    Bad bad;
    while (at < text.size() && parsed.bad.size() <= most_bad) {
      if constexpr (requires(std::int64_t line) { format.parse_quickly(text.data(), text.data(), line, parsed.chunk); }) {
        std::int64_t next = parsed.lines + 1;
        at = static_cast<std::size_t>(
            format.parse_quickly(text.data() + at, text.data() + text.size(), next, parsed.chunk) - text.data());
        parsed.lines = next - 1;
        if (at == text.size()) break;
      }
      std::string_view record = text.substr(at);
      std::int64_t lines = 1;
      if constexpr (requires { format.record_end(record, last); }) {
        record = record.substr(0, format.record_end(record, last));
        lines = std::count(record.begin(), record.end(), '\n');
        if (record.empty()) break;
        at += record.size();
      } else {
        const std::size_t newline = record.find('\n');
        if (newline == std::string_view::npos && !last) break;
        record = record.substr(0, newline);
        at = std::min(at + record.size() + 1, text.size());
      }
      const std::int64_t line = parsed.lines + 1;
      parsed.lines += std::max<std::int64_t>(lines, 1);
      if constexpr (requires { format.skips(record, line); }) {
        if (first && format.skips(record, line)) {
          first = false;
          continue;
        }
      }
      const auto after = text.data() + text.size() - (record.data() + record.size());
      if (!format.parse(record, after, line, parsed.chunk, bad)) {
        parsed.bad.push_back(bad);
        parsed.bad_row.push_back(static_cast<std::int64_t>(parsed.chunk.rows()));
      }
    }
    return at;
  }

  std::variant<Svmlight, VwText, TableReader, JsonReader> format_;
  std::shared_ptr<Spares> spares_ = std::make_shared<Spares>();
};

}  // namespace mistakebound
