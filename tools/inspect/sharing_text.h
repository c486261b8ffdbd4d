// Formats the report of `fatctx info --sharing`.
#pragma once

#include <cstdint>
#include <string>

#include "fatctx/container.h"
#include "fatctx/sharing.h"

namespace fatctx::tools {

enum class Bars : std::uint8_t { kAscii, kBlocks };

// Returns lines of at most 100 columns.
[[nodiscard]] std::string sharing_report_text(const Container& container, const SharingReport& report, Bars bars);

// Returns block characters for a terminal that can show them, unless the user asks for plain text (NO_COLOR).
[[nodiscard]] Bars bars_of_terminal();

}  // namespace fatctx::tools
