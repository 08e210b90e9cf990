// The readers of files, shown to Python for its tests.
#pragma once
#include <nanobind/nanobind.h>

namespace mistakebound {

void bind_tables(nanobind::module_& m);

}  // namespace mistakebound
