// Programs and libraries of ours that come with this one.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// Goes on as another program: its output is ours, its exit code is ours, and signals reach it. Comes back only if that
// cannot be done.
// Errors: not_found, operation_not_permitted (not a program), no_resource, io.
[[nodiscard]] Error become_program(const std::vector<std::string>& arguments);

// The folder that the running program lies in, links resolved; empty if the system does not tell.
[[nodiscard]] std::string own_program_folder();

// The path of a program that is built only with ONNX Runtime: beside this one, or in PATH.
// Errors: backend_library_missing with what to install.
[[nodiscard]] Result<std::string> find_onnxruntime_program(const std::string& name);

// Our execution provider, libfatctx_ort.so: where the build, an archive or an installation puts it, seen from this
// program. Errors: not_found.
[[nodiscard]] Result<std::string> find_provider_beside_program();

}  // namespace fatctx::tools
