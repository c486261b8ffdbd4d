// Binds updates: files that turn old containers into a new one.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_update(nanobind::module_& module);

}  // namespace fatctx::python
