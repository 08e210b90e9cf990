// Prediction with expert advice, shown to Python.
#pragma once
#include <nanobind/nanobind.h>

namespace mistakebound {

void bind_experts(nanobind::module_& m);

}  // namespace mistakebound
