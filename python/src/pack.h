// Writing containers from Python.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "fatctx/packer.h"

namespace fatctx::python {

// Raises InvalidArgument.
[[nodiscard]] Sharing sharing_from(const std::string& word);

void bind_pack(nanobind::module_& module);

}  // namespace fatctx::python
