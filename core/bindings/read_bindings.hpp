// Python bindings of the readers of files and the chunks that they parse.
#pragma once
#include <nanobind/nanobind.h>

#include "read/reader.hpp"

namespace mistakebound {

// A parsed chunk whose text Python may hold.
struct HeldParsed : Parsed {
  using Parsed::Parsed;
  nanobind::object given;  // the text, if the caller passed it
};

void bind_reading(nanobind::module_& m);
void bind_tables(nanobind::module_& m);  // formats, for Python's tests

}  // namespace mistakebound
