// Samples the short byte sequences of a record, regardless of their offset and order. It tells a record with the same
// bytes in another order from one with other bytes. For reports, never to decide how bytes are stored.
#pragma once

#include <cstdint>
#include <vector>

#include "container/sharing/record_bytes.h"

namespace fatctx::container::sharing {

// Returns the rolling values of some stretches of 64 bytes, one in 4 KiB on average, chosen by their content.
// They ascend, and each appears once. Memory: 1 MiB and the result. Errors: those of reading.
[[nodiscard]] Result<std::vector<std::uint64_t>> scan_windows(const RecordBytes& record);

}  // namespace fatctx::container::sharing
