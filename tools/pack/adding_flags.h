// --one-per-soc and --strict-sharing, options of the commands that add records.
#pragma once

namespace CLI {
class App;
}

namespace fatctx::tools {

// Adds both options. Lifetime: both variables outlive the parse.
void add_adding_rules(CLI::App& command, bool& one_per_soc, bool& strict_sharing);

}  // namespace fatctx::tools
