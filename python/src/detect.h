// The machine and its SoC.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_soc_table(nanobind::module_& module);
// Behind the classes that it returns.
void bind_detect(nanobind::module_& module);

}  // namespace fatctx::python
