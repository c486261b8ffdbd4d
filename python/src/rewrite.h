// Binds writing containers anew.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_rewrite(nanobind::module_& module);

}  // namespace fatctx::python
