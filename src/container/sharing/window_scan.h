// Which short stretches of bytes a record has, at whatever place and in whatever order: tells a record that holds the
// bytes of another in another order from one that holds other bytes. For reports, never for what is stored.
#pragma once

#include <cstdint>
#include <vector>

#include "container/sharing/record_bytes.h"

namespace fatctx::container::sharing {

// The rolling values of some stretches of 64 bytes, one in 4 KiB on average, chosen by what is in them; ascending, each
// once. Memory: 1 MiB and the result. Errors: those of reading.
[[nodiscard]] Result<std::vector<std::uint64_t>> scan_windows(const RecordBytes& record);

}  // namespace fatctx::container::sharing
