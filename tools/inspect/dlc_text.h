// Formats a multi-SoC DLC for `fatctx dlc list` and `fatctx info`.
#pragma once

#include <string>

#include "fatctx/import_dlc.h"

namespace fatctx::tools {

[[nodiscard]] std::string dlc_text(const std::string& path, const DlcInfo& info);
// Returns the graphs of each context binary, with inputs, outputs and the compiler's facts.
[[nodiscard]] std::string dlc_graphs_text(const DlcInfo& info);

}  // namespace fatctx::tools
