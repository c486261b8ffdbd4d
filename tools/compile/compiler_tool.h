// Running a compiler that is a program of its own, and first words on what it left behind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// Runs one tool; `name` is what errors call it. Returns how long it took, in seconds; `log` gets all that it said.
// Errors: serialise_failed with the reason that stands in its output; those of run_process, if it could not be started.
[[nodiscard]] Result<double> run_tool(std::string_view name, std::vector<std::string> arguments,
                                      const std::string& folder, std::string& log);

// Compilers report success without a file. Errors: serialise_failed (not there, or empty).
[[nodiscard]] Status check_output(const std::string& path, std::string_view tool);

}  // namespace fatctx::tools
