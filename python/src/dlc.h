// Binds multi-SoC DLC archives.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_dlc(nanobind::module_& module);

}  // namespace fatctx::python
