// What the records of a container have in common.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_sharing(nanobind::module_& module);

}  // namespace fatctx::python
