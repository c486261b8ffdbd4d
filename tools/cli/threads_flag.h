// -j, --threads, an option of the commands that use several threads.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace fatctx::tools {

// Adds the option. `that` says what the threads do, as "read and hash". Lifetime: `threads` outlives the
// parse.
void add_threads(CLI::App& command, std::uint32_t& threads, const std::string& that);

}  // namespace fatctx::tools
