#include "tools/arguments.h"

namespace fatctx::tools {

std::vector<std::string> program_arguments(int argc, char** argv) { return {argv + (argc > 0 ? 1 : 0), argv + argc}; }

}  // namespace fatctx::tools
