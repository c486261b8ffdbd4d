// Binds the import of tensors from weight files, for records to pack.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

// Requires: bind_pack() was called; it binds the classes that these functions return.
void bind_import_tensors(nanobind::module_& module);

}  // namespace fatctx::python
