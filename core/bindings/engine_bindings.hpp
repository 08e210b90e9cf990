// The engine of the linear rules, shown to Python.
#pragma once
#include <nanobind/nanobind.h>

namespace mistakebound {

void bind_engine(nanobind::module_& m);

}  // namespace mistakebound
