// Finds the programs and libraries of fatctx that are installed with this one.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// Replaces this process by another program: its output and exit code become ours, and signals reach it.
// Returns only if that fails.
// Errors: not_found, operation_not_permitted (not a program), no_resource, io.
[[nodiscard]] Error become_program(const std::vector<std::string>& arguments);

// Returns the folder of the running program, links resolved; empty if the system does not report it.
[[nodiscard]] std::string own_program_folder();

// Returns the path of a program that is built only with ONNX Runtime: in this program's folder, or in PATH.
// Errors: backend_library_missing with what to install.
[[nodiscard]] Result<std::string> find_onnxruntime_program(const std::string& name);

// Returns the path of our execution provider, libfatctx_ort.so. Looks where the build, an archive or an
// installation puts it, relative to this program. Errors: not_found.
[[nodiscard]] Result<std::string> find_provider_beside_program();

}  // namespace fatctx::tools
