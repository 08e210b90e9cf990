// Python bindings of the readers of files and of the chunks that they return.
#pragma once
#include <nanobind/nanobind.h>

#include "read/reader.hpp"

namespace mistakebound {

// A parsed chunk, and the Python object with its text, if a Python object has it.
struct HeldParsed : Parsed {
  using Parsed::Parsed;
  nanobind::object given;  // the text that the caller passed
  bool is_parsed = true;   // whether it was parsed from text, which takes longer than reading it from a cache
};

void bind_reading(nanobind::module_& m);
void bind_tables(nanobind::module_& m);  // parsers of table formats, for tests in Python

}  // namespace mistakebound
