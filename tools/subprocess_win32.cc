// The compilers that `fatctx compile` and `ctx-gen` run exist for Linux; on Windows these commands say so.
#include "tools/subprocess.h"

namespace fatctx::tools {

Result<ProcessResult> run_process(const ProcessRequest& /*request*/) {
  return Error{ErrorCode::kUnsupported, "compilers are not run on Windows; compile on Linux and pack the results here"};
}

std::optional<std::string> find_program(const std::string& /*name*/, const std::string& /*folder*/) {
  return std::nullopt;
}

}  // namespace fatctx::tools
