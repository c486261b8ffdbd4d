// Makes the file that a provider loads for a record that refers to shared weights: a thin DLC with both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/stored_dlc.h"

namespace fatctx::tools {

// Returns the DLC of one context binary and the shared weights that it refers to.
// Errors: unsupported, with the remedy, if the container has no DLC with this record; those of stored_dlcs and
//         thin_dlc_view.
[[nodiscard]] Result<ThinDlcView> thin_payload(const Container& container, const RecordInfo& record);

// Returns the offset of the first difference between a file and these bytes, or nothing. Errors: not_found, io.
[[nodiscard]] Result<std::optional<std::uint64_t>> first_difference(ByteView bytes, const std::string& path);

}  // namespace fatctx::tools
