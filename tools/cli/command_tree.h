// All commands with their options as JSON: the one description from which manual pages and completions are made.
#pragma once

#include "base/json.h"
#include "tools/cli/command.h"

namespace fatctx::tools {

// Returns the commands that --help lists, in its order: schema "fatctx.commands/1".
[[nodiscard]] Json command_tree(const CLI::App& app);

}  // namespace fatctx::tools
