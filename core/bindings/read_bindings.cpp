// Python bindings of the readers and of parsed chunks, and functions for tests that parse a whole text.
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

#include "bindings/arrays.hpp"
#include "bindings/named_example.hpp"
#include "memory/memory.hpp"
#include "read/cache.hpp"
#include "read/reader.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace mistakebound {
namespace {

// Raise an OSError for an error number of the system. The caller must hold the GIL.
[[noreturn]] void raise(int error) {
  if (error == too_short) throw nb::value_error("the file became shorter while it was read");
  errno = error;
  PyErr_SetFromErrno(PyExc_OSError);
  throw nb::python_error();
}
template <class Work>
auto or_raise(Work work) {
  try {
    return work();
  } catch (const ReadError& failed) {
    raise(failed.error);
  }
}

// Python owns the returned object.
HeldParsed* parse(const Reader& reader, nb::handle buffer, bool last, std::size_t most_bad, bool first) {
  auto parsed = std::make_unique<HeldParsed>(reader.spares());
  const auto bytes = nb::cast<Bytes>(buffer);
  parsed->given = nb::borrow(buffer);
  nb::gil_scoped_release release;
  reader.parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, last, most_bad, first, *parsed);
  return parsed.release();
}
HeldParsed* read(const Reader& reader, int descriptor, std::int64_t begin, std::size_t size, bool last, std::size_t most_bad,
                 bool keep_text) {
  auto parsed = std::make_unique<HeldParsed>(reader.spares());
  or_raise([&] {
    nb::gil_scoped_release release;
    reader.read(descriptor, begin, size, last, most_bad, keep_text, *parsed);
  });
  return parsed.release();
}

nb::bytes bytes_of(std::string_view text) { return nb::bytes(text.data(), text.size()); }
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

// Parse each record from a copy of exactly its size. Then a sanitizer detects a read beyond its end.
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
                      std::vector<std::pair<std::string, std::string>> interact, std::optional<Strings> missing, bool automatic) {
  formats::TableOptions options;
  options.separator = separator;
  options.header = header;
  set_columns(options, std::move(label), std::move(ignore), std::move(text), std::move(categorical), words, letters, bins,
              std::move(interact), std::move(missing), false, automatic);
  formats::Table table(std::move(options));
  bool has_columns = false;
  const nb::tuple parsed = parse_all(table, view_of(bytes), [&](std::string_view record, std::int64_t line) {
    if (has_columns || table.blank(record, line)) return false;
    table.begin(record);
    has_columns = true;
    return header;
  });
  return nb::make_tuple(parsed[0], parsed[1], table.columns());
}

nb::tuple parse_json_lines(nb::bytes bytes, std::string label, Strings ignore, Strings text, int words, int letters,
                           int bins, bool automatic) {
  const formats::JsonLines lines({std::move(label), std::move(ignore), std::move(text), words, letters, bins, false, automatic, {}});
  return parse_all(lines, view_of(bytes), [](std::string_view, std::int64_t) { return false; });
}

}  // namespace

void bind_reading(nb::module_& m) {
  const auto view = [](const auto& numbers, nb::handle owner) {
    using T = typename std::remove_cvref_t<decltype(numbers)>::value_type;
    return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(numbers.data(), {numbers.size()}, owner));
  };
  const auto checked_row = [](const HeldParsed& self, std::size_t row) {
    return row < self.chunk.rows() ? row : throw nb::index_error();
  };
  nb::enum_<BadKind>(m, "BadKind", "Why a line is bad.")
      .value("SYNTAX", BadKind::syntax)
      .value("NOT_UTF8", BadKind::not_utf8)
      .value("LABEL", BadKind::label)
      .value("NO_LABEL", BadKind::no_label)
      .value("INDEX", BadKind::index)
      .value("ZERO_INDEX", BadKind::zero_index)
      .value("VALUE", BadKind::value)
      .value("REPEATED", BadKind::repeated)
      .value("FIELDS", BadKind::fields);
  nb::class_<HeldParsed>(m, "Chunk", "Parsed rows of a text.")
      .def_ro("named", &HeldParsed::named)
      .def_prop_ro("text", [](const HeldParsed& self) -> nb::object {
        if (self.given.is_valid()) return self.given;
        if (self.chunk.text.empty() && self.consumed > 0) throw nb::value_error("the text of this chunk was not kept");
        return nb::bytes(self.chunk.text.data(), self.chunk.text.size());
      })
      .def_ro("consumed", &HeldParsed::consumed)
      .def_ro("lines", &HeldParsed::lines)
      .def("__len__", [](const HeldParsed& self) { return self.chunk.rows(); })
      .def_prop_ro("labels", [](const HeldParsed& self) { return list_of_bytes(self.chunk.labels); })
      .def_prop_ro("label_ids", [](const HeldParsed& self) { return nb::bytes(self.chunk.label_ids.data(), self.chunk.label_ids.size()); })
      .def_prop_ro("other_labels", [](const HeldParsed& self) { return list_of_bytes(self.chunk.other_labels); })
      .def_prop_ro("bad", [](const HeldParsed& self) {
        nb::list all;
        for (std::size_t k = 0; k < self.bad.size(); ++k) {
          const Bad& bad = self.bad[k];
          all.append(nb::make_tuple(self.bad_row[k], bad.line, bad.column, bad.kind, bytes_of(bad.what), bytes_of(bad.feature),
                                    bytes_of(bad.value)));
        }
        return all;
      })
      .def("pack", [](const HeldParsed& self) {
        const std::string bytes = cache::pack(self);
        return nb::bytes(bytes.data(), bytes.size());
      })
      // Without the GIL, because it reads every byte. Python owns the returned object.
      .def_ro("is_parsed", &HeldParsed::is_parsed)
      .def_static("unpack", [](nb::handle buffer) {
        static const auto spares = std::make_shared<Spares>();
        auto parsed = std::make_unique<HeldParsed>(spares);
        const auto bytes = nb::cast<Bytes>(buffer);
        parsed->given = nb::borrow(buffer);
        nb::gil_scoped_release release;
        cache::unpack({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, *parsed);
        parsed->is_parsed = false;
        return parsed.release();
      }, nb::rv_policy::take_ownership, "packed"_a)
      // A chunk of named examples of Python, one after the other. Reading them may run Python code.
      .def_static("of_examples", [] {
        static const auto spares = std::make_shared<Spares>();
        auto parsed = std::make_unique<HeldParsed>(spares);
        parsed->named = true;
        parsed->is_parsed = false;
        return parsed.release();
      }, nb::rv_policy::take_ownership)
      .def("add_example", [](HeldParsed& self, nb::handle x) {
        static thread_local NamedExample example;
        NamedExample now = std::exchange(example, NamedExample());
        now.read(x);
        for (std::size_t k = 0; k < now.size; ++k) self.chunk.add({}, now.name[k], now.value[k]);
        self.chunk.end_row({}, 0);
        now.clear();
        example = std::move(now);
      }, "x"_a)
      .def("end_examples", [](HeldParsed& self) { self.chunk.prepare(true); })
      .def_prop_ro("width", [](const HeldParsed& self) { return std::int64_t{self.chunk.largest_index} + 1; })
      .def("line", [checked_row](const HeldParsed& self, std::size_t row) { return self.chunk.line[checked_row(self, row)]; }, "row"_a)
      .def_prop_ro("row_lines", [view](nb::handle self) { return view(nb::cast<const HeldParsed&>(self).chunk.line, self); })
      .def("importance", [checked_row](const HeldParsed& self, std::size_t row) {
        return self.chunk.remark_of(checked_row(self, row)).importance;
      }, "row"_a)
      .def_ro("weighted", &HeldParsed::weighted)
      .def_prop_ro("weights", [](const HeldParsed& self) -> nb::object {
        if (!self.weighted) return nb::none();
        const std::vector<double> all = self.chunk.weights();
        return to_numpy(all.data(), all.size());
      })
      .def("tag", [checked_row](const HeldParsed& self, std::size_t row) {
        const std::string_view tag = self.chunk.remark_of(checked_row(self, row)).tag;
        return nb::bytes(tag.data(), tag.size());
      }, "row"_a)
      .def("name", [](const HeldParsed& self, std::size_t at) {
        if (!self.named || at >= self.chunk.features()) throw nb::index_error();
        const std::string_view name = self.chunk.name_of(at);
        return nb::bytes(name.data(), name.size());
      }, "at"_a)
      .def("different_names", [](const HeldParsed& self) {
        const auto [names, ids] = self.different_names();
        return nb::make_tuple(list_of_bytes(names), to_numpy(ids.data(), ids.size()));
      })
      .def_prop_ro("indptr", [view](nb::handle self) { return view(nb::cast<const HeldParsed&>(self).chunk.indptr, self); })
      .def_prop_ro("index", [view](nb::handle self) { return view(nb::cast<const HeldParsed&>(self).chunk.index, self); })
      .def_prop_ro("value", [view](nb::handle self) {
        const Chunk& chunk = nb::cast<const HeldParsed&>(self).chunk;
        if (!chunk.value.empty()) return view(chunk.value, self);
        const std::vector<double> ones(chunk.features(), 1.0);
        return to_numpy(ones.data(), ones.size());
      });
  nb::class_<Reader>(m, "Reader", "A parser of text in one format.")
      .def(nb::init<const std::string&, bool, bool>(), "kind"_a, "zero_based"_a = false, "label_optional"_a = false)
      .def_static("table", [](nb::bytes beginning, std::string label, Strings ignore, Strings text, Strings categorical, int words,
                               int letters, int bins, std::vector<std::pair<std::string, std::string>> interact,
                               std::optional<std::string> separator, std::optional<bool> header,
                               std::optional<Strings> missing, bool zeros, bool automatic, std::string weight) {
        return Reader::table(view_of(beginning), std::move(label), std::move(ignore), std::move(text), std::move(categorical),
                             words, letters, bins, std::move(interact), std::move(separator), header, std::move(missing), zeros,
                             automatic, std::move(weight));
      }, "beginning"_a, nb::kw_only(), "label"_a = "", "ignore"_a = Strings(),
                  "text"_a = Strings(), "categorical"_a = Strings(), "words"_a = 1, "letters"_a = 0, "bins"_a = 0,
                  "interact"_a = std::vector<std::pair<std::string, std::string>>(), "separator"_a = nb::none(),
                  "header"_a = nb::none(), "missing"_a = nb::none(), "zeros"_a = false, "auto"_a = false, "weight"_a = "")
      .def_static("json", &Reader::json, "label"_a = "label", nb::kw_only(), "ignore"_a = Strings(), "text"_a = Strings(),
                  "words"_a = 1, "letters"_a = 0, "bins"_a = 0, "zeros"_a = false, "auto"_a = false, "weight"_a = "")
      .def_prop_ro("named", &Reader::named)
      .def_prop_ro("columns", &Reader::columns)
      // A chunk has views of the column names, which the reader owns. Hence a chunk keeps its reader alive.
      .def("parse", &parse, nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(), "text"_a, "last"_a,
           "most_bad"_a = 0, "first"_a = false)
      .def("read", &read, nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(), "descriptor"_a, "begin"_a, "size"_a,
           "last"_a, "most_bad"_a = 0, "keep_text"_a = false);
  m.def("read_at", [](int descriptor, std::int64_t begin, std::size_t size) {
    nb::object bytes = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
    if (!bytes.is_valid()) throw nb::python_error();
    if (const int error = read_at(descriptor, begin, PyBytes_AsString(bytes.ptr()), size)) raise(error);
    return bytes;
  }, "descriptor"_a, "begin"_a, "size"_a, "Return `size` bytes of a file from `begin` on. Raise ValueError if the file is shorter.");
  m.def("end_of_line", [](int descriptor, std::int64_t begin, std::int64_t middle, std::int64_t size) {
    return or_raise([&] { return end_of_line(descriptor, begin, middle, size); });
  }, "descriptor"_a, "begin"_a, "middle"_a, "size"_a,
        "Return the position after the last newline before `middle`, or after the first newline behind it.");
  m.def("give_back", [](nb::handle mapped, std::size_t begin, std::size_t end) {
    const auto bytes = nb::cast<Bytes>(mapped);
    if (begin > end || end > bytes.size()) throw nb::index_error();
    nb::gil_scoped_release release;
    release_pages(bytes.data() + begin, end - begin);
  }, "mapped"_a, "begin"_a, "end"_a, "Release whole pages of a mapped file from memory, without the GIL.");
}

void bind_tables(nb::module_& m) {
  m.def("parse_table", &parse_table, "text"_a, nb::kw_only(), "separator"_a = ',', "header"_a = true, "label"_a = "",
        "ignore"_a = Strings(), "text_columns"_a = Strings(), "categorical"_a = Strings(), "words"_a = 1, "letters"_a = 0,
        "bins"_a = 0, "interact"_a = std::vector<std::pair<std::string, std::string>>(), "missing"_a = nb::none(),
        "auto"_a = false);
  m.def("parse_json_lines", &parse_json_lines, "text"_a, nb::kw_only(), "label"_a = "", "ignore"_a = Strings(),
        "text_keys"_a = Strings(), "words"_a = 1, "letters"_a = 0, "bins"_a = 0, "auto"_a = false);
  m.def(
      "sniff_table",
      [](nb::bytes beginning) {
        const formats::TableOptions options = formats::Table::sniff(view_of(beginning));
        return nb::make_tuple(std::string(1, options.separator), options.header);
      },
      "beginning"_a);
}

}  // namespace mistakebound
