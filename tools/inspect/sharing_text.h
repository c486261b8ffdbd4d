// What `fatctx info --sharing` prints for people.
#pragma once

#include <cstdint>
#include <string>

#include "fatctx/container.h"
#include "fatctx/sharing.h"

namespace fatctx::tools {

enum class Bars : std::uint8_t { kAscii, kBlocks };

// Lines of at most 100 columns.
[[nodiscard]] std::string sharing_report_text(const Container& container, const SharingReport& report, Bars bars);

// Blocks where a person looks at a terminal that can show them, and has not asked for plain text (NO_COLOR).
[[nodiscard]] Bars bars_of_terminal();

}  // namespace fatctx::tools
