#include "tools/pack/adding_flags.h"

#include <CLI/CLI.hpp>

namespace fatctx::tools {

void add_adding_rules(CLI::App& command, bool& one_per_soc, bool& strict_sharing) {
  command.add_flag("--one-per-soc", one_per_soc, "Refuse a second context binary for a SoC, whatever else differs");
  command.add_flag("--strict-sharing", strict_sharing, "Refuse records that do not share as they were compiled");
}

}  // namespace fatctx::tools
