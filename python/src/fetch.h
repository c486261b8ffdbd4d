// Binds FetchPlan, which fetches a part of a container by ranges.
#pragma once

#include <nanobind/nanobind.h>

namespace fatctx::python {

void bind_fetch(nanobind::module_& module);

}  // namespace fatctx::python
