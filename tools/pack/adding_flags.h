// --one-per-soc and --strict-sharing of the commands that add records.
#pragma once

namespace CLI {
class App;
}

namespace fatctx::tools {

// Lifetime: both outlive the parse.
void add_adding_rules(CLI::App& command, bool& one_per_soc, bool& strict_sharing);

}  // namespace fatctx::tools
