#include "tools/cli/made_flag.h"

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace fatctx::tools {

void add_made_limit(CLI::App& command, std::uint64_t& bytes) {
  command.add_option("--max-made-bytes", bytes, "Most bytes to make of stored ones (1gb, or 100 times as many)")
      ->transform(CLI::AsSizeValue(false))
      ->transform(size_number())
      ->type_name("SIZE");
}

}  // namespace fatctx::tools
