// Binds the detection of the machine and its SoC.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_soc_table(nanobind::module_& module);
// Requires: the classes that its functions return are bound already.
void bind_detect(nanobind::module_& module);

}  // namespace fatctx::python
