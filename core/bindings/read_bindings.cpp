// The formats as Python's tests see them: whole texts in, rows and complaints out. Nothing here is fast.
#include "bindings/read_bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "read/reader.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace mistakebound {
namespace {


nb::str text_of(std::string_view bytes) { return nb::str(bytes.data(), bytes.size()); }

nb::list rows_of(const Chunk& chunk) {
  nb::list rows;
  for (std::size_t r = 0; r < chunk.rows(); ++r) {
    nb::dict features;
    const auto end = static_cast<std::size_t>(chunk.indptr[r + 1]);
    for (auto k = static_cast<std::size_t>(chunk.indptr[r]); k < end; ++k) {
      const nb::str name = text_of(chunk.name[k]);
      if (features.contains(name)) throw std::logic_error("a row has the same feature twice");
      features[name] = chunk.value[k];
    }
    rows.append(nb::make_tuple(text_of(chunk.label_of(r)), features, chunk.line[r]));
  }
  return rows;
}

// Each record is parsed from a copy of exactly its size, so that a sanitizer sees a read past its end.
template <class Format, class First>
nb::tuple parse_all(const Format& format, std::string_view text, First first) {
  Chunk chunk;
  nb::list bads;
  std::vector<std::vector<char>> held;
  std::int64_t line = 1;
  while (!text.empty()) {
    const std::size_t size = format.record_end(text, true);
    held.emplace_back(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));
    const std::string_view record(held.back().data(), size);
    Bad bad;
    if (!first(record, line) && !format.parse(record, line, chunk, bad))
      bads.append(nb::make_tuple(bad.line, bad.column, bad.what));
    line += std::count(record.begin(), record.end(), '\n');
    text.remove_prefix(size);
  }
  return nb::make_tuple(rows_of(chunk), bads);
}

std::string_view view_of(nb::bytes bytes) { return {bytes.c_str(), bytes.size()}; }

nb::tuple parse_table(nb::bytes bytes, char separator, bool header, std::string label, Strings ignore, Strings text,
                      Strings categorical, int words, int letters, int bins,
                      std::vector<std::pair<std::string, std::string>> interact, std::optional<Strings> missing) {
  formats::TableOptions options;
  options.separator = separator;
  options.header = header;
  tell(options, std::move(label), std::move(ignore), std::move(text), std::move(categorical), words, letters, bins,
       std::move(interact), std::move(missing));
  formats::Table table(std::move(options));
  bool begun = false;
  const nb::tuple parsed = parse_all(table, view_of(bytes), [&](std::string_view record, std::int64_t line) {
    if (begun || table.blank(record, line)) return false;
    table.begin(record);
    begun = true;
    return header;
  });
  return nb::make_tuple(parsed[0], parsed[1], table.columns());
}

nb::tuple parse_json_lines(nb::bytes bytes, std::string label, Strings ignore, Strings text, int words, int letters,
                           int bins) {
  const formats::JsonLines lines({std::move(label), std::move(ignore), std::move(text), words, letters, bins, false});
  return parse_all(lines, view_of(bytes), [](std::string_view, std::int64_t) { return false; });
}

}  // namespace

void bind_tables(nb::module_& m) {
  m.def("parse_table", &parse_table, "text"_a, nb::kw_only(), "separator"_a = ',', "header"_a = true, "label"_a = "",
        "ignore"_a = Strings(), "text_columns"_a = Strings(), "categorical"_a = Strings(), "words"_a = 1, "letters"_a = 0,
        "bins"_a = 0, "interact"_a = std::vector<std::pair<std::string, std::string>>(), "missing"_a = nb::none());
  m.def("parse_json_lines", &parse_json_lines, "text"_a, nb::kw_only(), "label"_a = "", "ignore"_a = Strings(),
        "text_keys"_a = Strings(), "words"_a = 1, "letters"_a = 0, "bins"_a = 0);
  m.def(
      "sniff_table",
      [](nb::bytes beginning) {
        const formats::TableOptions options = formats::Table::sniff(view_of(beginning));
        return nb::make_tuple(std::string(1, options.separator), options.header);
      },
      "beginning"_a);
}

}  // namespace mistakebound
