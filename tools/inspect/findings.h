// Formats findings as JSON, for verify, repair and diff.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "fatctx/container.h"

namespace fatctx::tools {

[[nodiscard]] nlohmann::ordered_json findings_json(const std::vector<VerifyFinding>& findings);

}  // namespace fatctx::tools
