// What verify, repair and diff have in common on the command line: findings as JSON, and the threads that check.
#pragma once

#include <cstdint>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "fatctx/container.h"

namespace CLI {
class App;
}

namespace fatctx::tools {

[[nodiscard]] nlohmann::ordered_json findings_json(const std::vector<VerifyFinding>& findings);

// -j, --threads. Lifetime: `threads` outlives the parse.
void add_threads(CLI::App& command, std::uint32_t& threads);

}  // namespace fatctx::tools
