// What needs no container: hashes, sizes, the layout of the format, and what this machine can do.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_facts(nanobind::module_& module);

}  // namespace fatctx::python
