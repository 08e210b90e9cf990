// Python bindings of prediction with expert advice.
#pragma once
#include <nanobind/nanobind.h>

namespace mistakebound {

void bind_experts(nanobind::module_& m);

}  // namespace mistakebound
