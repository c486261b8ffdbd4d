// Formats findings as JSON, for verify, repair and diff.
#pragma once

#include <vector>

#include "base/json.h"
#include "fatctx/container.h"

namespace fatctx::tools {

[[nodiscard]] Json findings_json(const std::vector<VerifyFinding>& findings);

}  // namespace fatctx::tools
