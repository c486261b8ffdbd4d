// The program: hands its arguments to run_command() and returns the exit code.
#include <string>
#include <vector>

#include "tools/command.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(fatctx::tools::run_command(arguments));
}
