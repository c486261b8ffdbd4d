// What the program was called with, in UTF-8 on every system.
#pragma once

#include <string>
#include <vector>

namespace fatctx::tools {

// Without the name of the program. `argc` and `argv` are those of main(); on Windows, whose main() is given them in a
// code page that lacks most characters, the system is asked.
[[nodiscard]] std::vector<std::string> program_arguments(int argc, char** argv);

}  // namespace fatctx::tools
