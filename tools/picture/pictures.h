// Draws the single pictures of `fatctx report --svg`, each an SVG file, as the page of the report draws them.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/soc_table.h"
#include "tools/device/coverage.h"

namespace fatctx::tools {

// `info` is what `info --json` says, with the part that is named here.

// Draws the bytes of the file as areas: shared, own, dead, tables, padding. Needs --extents.
[[nodiscard]] std::string treemap_picture(const Json& info);
// Draws the file from its first byte to its last. Needs --extents.
[[nodiscard]] std::string map_picture(const Json& info);
// Draws which records share how much. Needs --sharing.
[[nodiscard]] std::string sharing_picture(const Json& info);
// Draws how long the file was after each generation.
[[nodiscard]] std::string generations_picture(const Json& info);
// Draws what each device gets from each record, one block for each group. Errors: those of select().
[[nodiscard]] Result<std::string> coverage_picture(const Container& container, const std::vector<NamedDevice>& devices,
                                                   const SocTable& table);

}  // namespace fatctx::tools
