// Formats a multi-SoC DLC for `fatctx dlc list` and `fatctx info`.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "fatctx/import_dlc.h"

namespace fatctx::tools {

[[nodiscard]] std::string dlc_text(const std::string& path, const DlcInfo& info);
[[nodiscard]] nlohmann::ordered_json dlc_json(const std::string& path, const DlcInfo& info);  // schema "fatctx.dlc/1"

}  // namespace fatctx::tools
