#include <CLI/CLI.hpp>

#include "tools/command.h"

namespace fatctx::tools {

void add_compile(CLI::App& app, Outcome& outcome) {
  CLI::App* command = describe(app, "compile", {.purpose = "Not written yet", .synopsis = "fatctx compile", .examples = {}, .more = {}});
  command->callback([&outcome] { outcome.finish(Error{ErrorCode::kUnsupported, "compile is not written yet"}); });
}

}  // namespace fatctx::tools
