#include "tools/cli/threads_flag.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace fatctx::tools {

void add_threads(CLI::App& command, std::uint32_t& threads, const std::string& that) {
  command.add_option("-j,--threads", threads, fmt::format("Threads that {} (as many as processors, up to 8)", that))
      ->check(whole_number(1, 256))
      ->type_name("N");
}

}  // namespace fatctx::tools
