// Hands the program's arguments to run_command() and returns the exit code. Under the name ep_weight_sharing_ctx_gen,
// as ONNX Runtime calls its tool, the program is the command ctx-gen.
#include <string>
#include <utility>
#include <vector>

#include "fatctx/mapping_guard.h"
#include "tools/cli/command.h"
#include "tools/cli/print.h"
#include "tools/system/arguments.h"
#include "tools/system/standard_streams.h"

namespace {

std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments = fatctx::tools::program_arguments(argc, argv);
  const std::string name = arguments.empty() ? "" : std::move(arguments.front());
  if (!arguments.empty()) arguments.erase(arguments.begin());
  if (name.substr(name.rfind('/') + 1) == "ep_weight_sharing_ctx_gen") arguments.insert(arguments.begin(), "ctx-gen");
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  using fatctx::tools::ExitCode;
  fatctx::tools::prepare_standard_streams();
  // If the guard cannot be installed, truncating a file while it is read ends the command, as it would any
  // other program.
  (void)fatctx::install_mapping_guard();
#ifdef FATCTX_CTX_GEN_ENGINE
  fatctx::tools::use_onnxruntime();
#endif
  ExitCode code = fatctx::tools::run_command(arguments_of(argc, argv));
  if (fatctx::lost_mappings() != 0) {
    fatctx::tools::print_note(
        "fatctx: a file was cut while it was mapped; the result is not valid (mapping_lost); replace files by rename");
    code = ExitCode::kFile;
  }
  return static_cast<int>(code);
}
