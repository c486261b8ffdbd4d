// Reads files of the system that hold a line of text: their size is meaningless, and one read returns the whole line.
#pragma once

#include <cstddef>
#include <string>

#include "fatctx/base/result.h"

namespace fatctx::mapping {

// Returns the first bytes of a file, `limit` at most. Never blocks: a fifo or a device is not_regular_file.
// Errors: not_found, not_regular_file, io.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path, std::size_t limit);

}  // namespace fatctx::mapping
