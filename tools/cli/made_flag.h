// --max-made-bytes, an option of the commands that read the bytes of records.
#pragma once

#include <cstdint>

namespace CLI {
class App;
}

namespace fatctx::tools {

// Adds OpenOptions::max_made_bytes as an option with a size. Lifetime: `bytes` outlives the parse.
void add_made_limit(CLI::App& command, std::uint64_t& bytes);

}  // namespace fatctx::tools
