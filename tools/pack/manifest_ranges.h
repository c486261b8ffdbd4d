// The "ranges" of a record: where the parts of a file begin and end whose form nobody here knows.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/packer.h"
#include "tools/facts/json_cursor.h"

namespace fatctx::tools {

// A list of {"name", "offset", "size"}. The packer checks that they ascend, lie apart, and are inside their record.
// Errors: invalid_argument with file, JSON pointer, what was found and what is allowed.
[[nodiscard]] Result<std::vector<PackRange>> ranges_at(const JsonCursor& cursor);

// The same for a file that holds nothing but such a list. Errors: also those of read_text_file.
[[nodiscard]] Result<std::vector<PackRange>> read_ranges(const std::string& path);

}  // namespace fatctx::tools
