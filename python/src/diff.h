// Binds the comparison of two containers.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_diff(nanobind::module_& module);

}  // namespace fatctx::python
