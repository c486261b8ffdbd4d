// Binds the report of bytes that the records of a container share.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_sharing(nanobind::module_& module);

}  // namespace fatctx::python
