// Binds appending: adds records to a container in place.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_append(nanobind::module_& module);

}  // namespace fatctx::python
