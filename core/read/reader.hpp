// Parse text of a file into chunks: choose the parser, find the ends of records, and read blocks of the file.
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

// Chunks whose memory can be reused, which avoids page faults. A thread gets a chunk that it filled itself, if there is one,
// because parts of it may still be in the cache of its core.
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

// Parsed records of a text. Names are views of the text: chunk.text, or that of the caller, who must keep it alive.
struct Parsed {
  explicit Parsed(std::shared_ptr<Spares> from) : chunk(from->take()), spares(std::move(from)) {}
  ~Parsed() { spares->give(std::move(chunk), filled_by); }
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;

  Chunk chunk;
  std::shared_ptr<Spares> spares;
  const std::thread::id filled_by = Spares::here();
  bool named = false, weighted = false;  // whether features have names, and whether a row has a weight other than 1
  std::size_t consumed = 0;  // number of bytes parsed; the rest is an incomplete record
  std::int64_t lines = 0;    // number of lines parsed
  std::vector<Bad> bad;
  std::vector<std::int64_t> bad_row;  // number of rows before each bad record

  // The different names in the order of their first occurrence, and for each non-zero the position of its name among them.
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

// Set the options of the columns of a table.
inline void set_columns(formats::TableOptions& options, std::string label, Strings ignore, Strings text, Strings categorical,
                        int words, int letters, int bins, std::vector<std::pair<std::string, std::string>> interact,
                        std::optional<Strings> missing, bool zeros, bool automatic) {
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
  options.automatic = automatic;
}

// Read `size` bytes of a file from `begin` on. Return 0, or an error: an errno of the system, or `too_short`.
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
// A file could not be read. `error` is the result of read_at.
struct ReadError : std::runtime_error {
  explicit ReadError(int code) : std::runtime_error("a file could not be read"), error(code) {}
  int error;
};

// The position after the last newline between `begin` and `middle` of a file. If there is none, the position after the first
// newline behind `middle`, or `size`, the end of the file.
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
      throw std::invalid_argument("there is no line format '" + kind + "'; choose 'svmlight' or 'vw'");
  }

  // A reader of a table. Options that are not set are detected from `start`, which must contain the first record.
  static Reader table(std::string_view start, std::string label, Strings ignore, Strings text, Strings categorical, int words,
                      int letters, int bins, std::vector<std::pair<std::string, std::string>> interact,
                      std::optional<std::string> separator, std::optional<bool> header, std::optional<Strings> missing,
                      bool zeros, bool automatic, std::string weight = {}) {
    formats::TableOptions options = formats::Table::sniff(start);
    options.weight = std::move(weight);
    set_columns(options, std::move(label), std::move(ignore), std::move(text), std::move(categorical), words, letters, bins,
                std::move(interact), std::move(missing), zeros, automatic);
    if (separator && separator->size() != 1) throw std::invalid_argument("separator must be one character, got '" + *separator + "'");
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

  static Reader json(std::string label, Strings ignore, Strings text, int words, int letters, int bins, bool zeros,
                     bool automatic, std::string weight) {
    return Reader(std::make_shared<formats::JsonLines>(
        formats::JsonOptions{std::move(label), std::move(ignore), std::move(text), words, letters, bins, zeros, automatic, std::move(weight)}));
  }

  bool named() const {
    return std::visit([](const auto& format) { return std::decay_t<decltype(format)>::named; }, format_);
  }
  Strings columns() const {
    const auto* table = std::get_if<TableReader>(&format_);
    return table == nullptr ? Strings() : table->table->columns();
  }

  // Chunks that are not needed any more and can be reused.
  const std::shared_ptr<Spares>& spares() const { return spares_; }

  // Parse all complete records; with `last`, also a record without a newline at the end. Rows before and after a bad record are
  // kept. Parsing stops after `most_bad` + 1 bad records. `first`: the text may begin with a header. Several threads may use one
  // reader.
  void parse(std::string_view text, bool last, std::size_t most_bad, bool first, Parsed& parsed) const {
    std::visit(
        [&](const auto& format) {
          make_room(format, text.size(), parsed.chunk);
          parsed.consumed = each_record(format, text, last, most_bad, first, parsed);
        },
        format_);
    finish(parsed);
  }

  // Read bytes of a file and parse them. Reading is faster than mapping the file. Without `keep_text`, small pieces are read to
  // the same memory, which stays in the cache of the core; the shared cache is then left to the weights. Throws ReadError.
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

  // Return 0, or an error of read_at.
  template <class Format>
  static int read_records(const Format& format, int descriptor, std::int64_t begin, std::size_t size, bool last,
                          std::size_t most_bad, bool keep_text, Parsed& parsed) {
    thread_local Buffer<char> piece;
    const bool whole = keep_text || Format::points_into_text;
    Buffer<char>& text = whole ? parsed.chunk.text : piece;
    make_room(format, size, parsed.chunk);
    std::size_t done = 0, rest = 0;  // number of bytes read, and of those at the end that are an incomplete record
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
    if (piece.capacity() > 4 * piece_bytes) piece = Buffer<char>();  // release the memory of a long line
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

  // Parse the records of a text. Return the number of bytes parsed.
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
