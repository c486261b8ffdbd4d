// -j, --threads of the commands that use several.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace fatctx::tools {

// `that` says what they do, as "read and hash". Lifetime: `threads` outlives the parse.
void add_threads(CLI::App& command, std::uint32_t& threads, const std::string& that);

}  // namespace fatctx::tools
