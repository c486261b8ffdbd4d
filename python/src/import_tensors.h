// Tensors of files with weights, for records to be packed.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

// Requires: bind_pack() was called, whose classes its functions return.
void bind_import_tensors(nanobind::module_& module);

}  // namespace fatctx::python
