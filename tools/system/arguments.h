// Reads the arguments of the program.
#pragma once

#include <string>
#include <vector>

namespace fatctx::tools {

// Returns the arguments as UTF-8, the name of the program first. Windows hands main() another encoding, in which
// characters may be lost, so its list comes from the system.
[[nodiscard]] std::vector<std::string> program_arguments(int argc, char** argv);

}  // namespace fatctx::tools
