// JSON lines: one object per row. Independent of Python and of files.
#pragma once
#include <string_view>
#include <utility>

#include "read/bins.hpp"
#include "read/chunk.hpp"
#include "read/json.hpp"
#include "read/row.hpp"
#include "read/words.hpp"

namespace mistakebound::formats {

class JsonLines {
 public:
  explicit JsonLines(JsonOptions options)
      : options_(std::move(options)), words_(options_.words, options_.letters), bins_(options_.bins) {}

  // The number of bytes of the first line with its newline, or 0 if it is incomplete and more text may follow.
  std::size_t record_end(std::string_view text, bool last) const {
    const std::size_t newline = text.find('\n');
    return newline != std::string_view::npos ? newline + 1 : last ? text.size() : 0;
  }

  // Add the object as a row. Return false if it is malformed; then `bad` is the reason and the place, and the chunk does not
  // change. A blank line is skipped.
  bool parse(std::string_view record, std::int64_t line, Chunk& chunk, Bad& bad) const {
    const std::string_view bare = bare_record(record, line);
    if (bare.find_first_not_of(" \t\r") == std::string_view::npos) return true;
    JsonReader reader(options_, words_, bins_, bare, chunk);
    if (reader.read()) {
      chunk.end_row(reader.label(), line, reader.weight());
      return true;
    }
    chunk.drop_row();
    bad = reader.bad();
    bad.line = line;
    bad.column = bare.data() - record.data() + static_cast<std::int64_t>(reader.where()) + 1;
    return false;
  }

 private:
  JsonOptions options_;
  Words words_;
  Bins bins_;
};

}  // namespace mistakebound::formats
