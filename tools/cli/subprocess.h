// Runs another program: without a shell, with bounded output and a full report of how it ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx::tools {

struct ProcessRequest {
  std::vector<std::string> arguments;                    // the first is the program: a path, never searched for in PATH
  std::string working_folder;                            // empty: ours
  std::string input = {};                                // it reads this as standard input; at most 4 KiB
  std::size_t max_output_bytes = std::size_t{64} << 10;  // per stream; longer output keeps its beginning and its end
};

struct ProcessResult {
  int exit_code = -1;        // -1 if a signal ended it
  int signal = 0;            // 0 if it ended by itself
  std::string output;        // stdout
  std::string error_output;  // stderr
  double seconds = 0;
  [[nodiscard]] bool succeeded() const noexcept { return signal == 0 && exit_code == 0; }
};

// Runs the program and waits for its end. Reads all of its output; beyond
// max_output_bytes it drops the middle and inserts a line that says so.
//
// Threads: from any number of threads at once; no descriptor leaks into the programs of other threads.
// Errors: not_found, operation_not_permitted (not a program), invalid_argument (a longer input), no_resource, io.
[[nodiscard]] Result<ProcessResult> run_process(const ProcessRequest& request);

// Limits this process for the rest of its life: to `more_memory` bytes of address space beyond what it has, and to
// `seconds` of processor time. It writes no core file either. For work on hostile input in a process of its own. A
// limit that the system refuses is left out.
void limit_own_process(std::uint64_t more_memory, std::uint64_t seconds) noexcept;

// Returns the path of a program called `name`: in `folder` if it is not empty, else in the folders of PATH.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name, const std::string& folder);
// Does the same for a user's text: a name, looked for in PATH, or a path.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name_or_path);

}  // namespace fatctx::tools
