// Text from Python, parsed into chunks: which format it is, where records end, and which of two labels each row has.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "read/chunk.hpp"
#include "read/svmlight.hpp"
#include "read/vw.hpp"

namespace mistakebound {

namespace nb = nanobind;

// Some whole records of a text, and the text itself, which the names point into.
struct Parsed {
  Parsed() = default;
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;

  Chunk chunk;
  nb::object text;
  bool named = false;
  std::size_t consumed = 0;  // bytes; the rest is the beginning of a record whose end is not there yet
  std::int64_t lines = 0;    // in what was consumed
  std::vector<Bad> bad;
  std::vector<std::int64_t> bad_row;  // how many rows came before each
  // Each row's label as its place among the distinct ones; `other` where there are more than could be two classes.
  static constexpr std::size_t other = 255;
  std::vector<std::string_view> labels;
  std::string label_ids;

  void number_labels() {
    label_ids.resize(chunk.rows());
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const std::string_view label = chunk.label[row];
      std::size_t id = static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
      if (id == labels.size() && id < other) labels.push_back(label);
      label_ids[row] = static_cast<char>(static_cast<unsigned char>(std::min(id, other)));
    }
  }
};

class Reader {
 public:
  Reader(const std::string& format, bool zero_based) {
    if (format == "svmlight")
      format_ = Svmlight{zero_based};
    else if (format == "vw")
      format_ = VwText{};
    else
      throw nb::value_error(("unknown format " + format).c_str());
  }

  bool named() const {
    return std::visit([](const auto& format) { return format.named; }, format_);
  }

  // Parses all records that are whole; with `last`, also one that ends without a newline. Rows before a bad record and
  // after it are kept: the caller decides what a bad one means, and wants no more than `most_bad` of them. Several threads
  // may parse with one reader. (Python owns what is returned.)
  Parsed* parse(nb::handle buffer, bool last, std::size_t most_bad) const {
    auto parsed = std::make_unique<Parsed>();
    const auto bytes = nb::cast<nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(buffer);
    parsed->text = nb::borrow(buffer);
    parsed->named = named();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    nb::gil_scoped_release release;
    std::visit([&](const auto& format) { each_line(format, text, last, most_bad, *parsed); }, format_);
    parsed->number_labels();
    return parsed.release();
  }

 private:
  template <class Format>
  static void each_line(const Format& format, std::string_view text, bool last, std::size_t most_bad, Parsed& parsed) {
    std::size_t at = 0;
    Bad bad;
    while (at < text.size()) {
      const std::size_t newline = text.find('\n', at);
      if (newline == std::string_view::npos && !last) break;
      const std::size_t end = std::min(newline, text.size());
      ++parsed.lines;
      const auto after = static_cast<std::ptrdiff_t>(text.size() - end);
      if (!format.parse(text.substr(at, end - at), after, parsed.lines, parsed.chunk, bad)) {
        parsed.bad.push_back(bad);
        parsed.bad_row.push_back(static_cast<std::int64_t>(parsed.chunk.rows()));
      }
      at = std::min(end + 1, text.size());
      if (parsed.bad.size() > most_bad) break;
    }
    parsed.consumed = at;
  }

  std::variant<Svmlight, VwText> format_;
};

}  // namespace mistakebound
