// Binds measurements of loading: metrics, the profile recorder, traces and their replay.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_observe(nanobind::module_& module);

}  // namespace fatctx::python
