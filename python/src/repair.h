// Binds the repair of a file in place.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_repair(nanobind::module_& module);

}  // namespace fatctx::python
