// --profile, --profile-file and --trace: record what a command does to the library.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "fatctx/base/result.h"
#include "tools/cli/command.h"

namespace fatctx::tools {

struct RecordingOptions {
  std::string profile = "off";
  std::string profile_file;
  std::string trace_file;
};

// Adds the three options to a command that opens containers.
[[nodiscard]] std::shared_ptr<RecordingOptions> add_recording(CLI::App& command);

// Runs `work` and records what the options ask for, also if the work fails: a recording is worth most then.
// Errors of the recording count only if the work has none.
// Errors: those of `work`, invalid_argument (a file to write is the `container` itself), exists (it already exists),
// io.
[[nodiscard]] Result<ExitCode> recorded(const RecordingOptions& options, const std::string& container,
                                        const std::function<Result<ExitCode>()>& work);

}  // namespace fatctx::tools
