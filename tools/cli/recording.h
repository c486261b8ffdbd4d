// --profile, --profile-file and --trace: what a command does to the library, recorded.
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

// Runs `work` and records what it was asked to, also if the work fails: that is when a record is worth most. Its own
// errors count only where the work has none.
// Errors: those of `work`, invalid_argument (a file to write is the `container` itself), exists (it already exists),
// io.
[[nodiscard]] Result<ExitCode> recorded(const RecordingOptions& options, const std::string& container,
                                        const std::function<Result<ExitCode>()>& work);

}  // namespace fatctx::tools
