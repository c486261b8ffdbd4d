// Going on as another program of ours.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// Its output is ours, its exit code is ours, and signals reach it. Comes back only if that cannot be done.
// Errors: not_found, operation_not_permitted (not a program), no_resource, io.
[[nodiscard]] Error become_program(const std::vector<std::string>& arguments);

// The folder that the running program lies in, links resolved; empty if the system does not tell.
[[nodiscard]] std::string own_program_folder();

}  // namespace fatctx::tools
