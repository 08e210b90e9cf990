// Python bindings of the engine of the linear rules.
#pragma once
#include <nanobind/nanobind.h>

namespace mistakebound {

void bind_engine(nanobind::module_& m);

}  // namespace mistakebound
