// The command line of `fatctx compile`.
#pragma once

#include "tools/compile/compile_plan.h"

namespace CLI {
class App;
}  // namespace CLI

namespace fatctx::tools {

// Adds all options of the command, which write to `flags`. Lifetime: `flags` outlives the parsing.
void add_compile_flags(CLI::App& command, CompileFlags& flags);

}  // namespace fatctx::tools
