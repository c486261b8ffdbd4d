#include "tools/system/arguments.h"

namespace fatctx::tools {

std::vector<std::string> program_arguments(int argc, char** argv) { return {argv, argv + argc}; }

}  // namespace fatctx::tools
