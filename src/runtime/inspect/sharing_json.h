// Writes the sharing report as the JSON that info_json() contains.
#pragma once

#include <span>

#include "base/json.h"
#include "fatctx/sharing.h"

namespace fatctx {

// Returns the JSON of a report. `records` are those of the container that was measured.
[[nodiscard]] Json sharing_json(const SharingReport& report, std::span<const RecordInfo> records);

}  // namespace fatctx
