// Binds writing containers.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "fatctx/packer.h"

namespace fatctx::python {

// Returns the value of a word. Raises InvalidArgument.
[[nodiscard]] Sharing sharing_from(const std::string& word);

void bind_pack(nanobind::module_& module);

}  // namespace fatctx::python
