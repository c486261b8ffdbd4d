// Hands the program's arguments to run_command() and returns the exit code.
#include <string>
#include <vector>

#include "fatctx/mapping_guard.h"
#include "tools/cli/command.h"
#include "tools/cli/print.h"

int main(int argc, char** argv) {
  using fatctx::tools::ExitCode;
  // If the guard cannot be installed, truncating a file while it is read ends the command, as it would any
  // other program.
  (void)fatctx::install_mapping_guard();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  ExitCode code = fatctx::tools::run_command(arguments);
  if (fatctx::lost_mappings() != 0) {
    fatctx::tools::print_note(
        "fatctx: a file was cut while it was mapped; the result is not valid (mapping_lost); replace files by rename");
    code = ExitCode::kFile;
  }
  return static_cast<int>(code);
}
