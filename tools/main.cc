// The program: hands its arguments to run_command() and returns the exit code.
#include "fatctx/mapping_guard.h"
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/print.h"

int main(int argc, char** argv) {
  using fatctx::tools::ExitCode;
  // Where there is no guard, a file that is cut while it is read ends the command, as it would any other program.
  (void)fatctx::install_mapping_guard();
  ExitCode code = fatctx::tools::run_command(fatctx::tools::program_arguments(argc, argv));
  if (fatctx::lost_mappings() != 0) {
    fatctx::tools::print_note(
        "fatctx: a file was cut while it was mapped; the result is not valid (mapping_lost); replace files by rename");
    code = ExitCode::kFile;
  }
  return static_cast<int>(code);
}
