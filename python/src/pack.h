// Writing containers from Python.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_pack(nanobind::module_& module);

}  // namespace fatctx::python
