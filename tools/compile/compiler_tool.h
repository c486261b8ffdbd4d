// Runs compilers that are programs of their own, and does first checks of their output.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// Returns the path of a program: in the active Python environment (VIRTUAL_ENV, CONDA_PREFIX), else in PATH, else in
// the folder of this program, which a package may have put into an environment that is not active.
[[nodiscard]] std::optional<std::string> find_in_environment(const std::string& name);

// Runs one tool; `name` is its name in errors. Returns its run time in seconds; `log` gets all of its output.
// Errors: serialise_failed with the reason from its output; those of run_process, if it could not be started.
[[nodiscard]] Result<double> run_tool(std::string_view name, std::vector<std::string> arguments,
                                      const std::string& folder, std::string& log);

// Checks that the output file exists, because compilers report success without it.
// Errors: serialise_failed (missing, or empty).
[[nodiscard]] Status check_output(const std::string& path, std::string_view tool);

}  // namespace fatctx::tools
