// ep_weight_sharing_ctx_gen: runs `fatctx ctx-gen` with ONNX Runtime. The arguments are those of the command.
#include <string>
#include <vector>

#include "fatctx/mapping_guard.h"
#include "tools/cli/command.h"
#include "tools/ctx_gen/ctx_gen_engine.h"
#include "tools/ctx_gen/engine/ort_engine.h"

int main(int argc, char** argv) {
  (void)fatctx::install_mapping_guard();
  fatctx::tools::set_ctx_gen_engine(fatctx::tools::run_sessions);
  std::vector<std::string> arguments = {"ctx-gen"};
  arguments.insert(arguments.end(), argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(fatctx::tools::run_command(arguments));
}
