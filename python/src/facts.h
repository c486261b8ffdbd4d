// Binds functions that need no container: hashes, sizes, the layout of the format, and the abilities of this
// machine.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_facts(nanobind::module_& module);

}  // namespace fatctx::python
