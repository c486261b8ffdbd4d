// Formats findings as JSON, for verify, repair and diff.
#pragma once

#include <vector>

#include "base/json.h"
#include "fatctx/container.h"
#include "tools/cli/command.h"

namespace fatctx::tools {

[[nodiscard]] Json findings_json(const std::vector<VerifyFinding>& findings);
// Returns true if there are findings, and each says that a part of the container is not present.
[[nodiscard]] bool only_absent(const std::vector<VerifyFinding>& findings);
// Returns the exit code of a check: a file that is not damaged, but has only a part of its container, has its own.
[[nodiscard]] ExitCode exit_code_of(const std::vector<VerifyFinding>& findings);

}  // namespace fatctx::tools
