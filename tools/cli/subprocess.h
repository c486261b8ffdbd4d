// Running another program: no shell, its output kept within bounds, its end reported in full.
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
  std::size_t max_output_bytes = std::size_t{64} << 10;  // kept of each stream: the beginning and the end of more
};

struct ProcessResult {
  int exit_code = -1;        // -1 if a signal ended it
  int signal = 0;            // 0 if it ended by itself
  std::string output;        // stdout
  std::string error_output;  // stderr
  double seconds = 0;
  [[nodiscard]] bool succeeded() const noexcept { return signal == 0 && exit_code == 0; }
};

// Waits for the program to end. Its standard input is empty. What it writes is read to the end; of more than
// max_output_bytes the middle is dropped, with a line that says so.
//
// Threads: from any number of threads at once; no descriptor leaks into the programs of other threads.
// Errors: not_found, operation_not_permitted (not a program), no_resource, io.
[[nodiscard]] Result<ProcessResult> run_process(const ProcessRequest& request);

// The path of a program called `name`: in `folder` if that is given, else in the folders of PATH.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name, const std::string& folder);
// The same for what people write: a name, looked for in PATH, or a path.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name_or_path);

}  // namespace fatctx::tools
