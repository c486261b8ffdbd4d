// Reads the "ranges" of a record: the boundaries of parts of a file whose form is unknown.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/packer.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {

// Reads a list of {"name", "offset", "size"}. The packer checks that they ascend, do not overlap, and are
// inside their record.
// Errors: invalid_argument with file, JSON pointer, the found and the allowed values.
[[nodiscard]] Result<std::vector<PackRange>> ranges_at(const JsonPlace& cursor);

// Does the same for a file that holds only such a list. Errors: also those of read_text_file.
[[nodiscard]] Result<std::vector<PackRange>> read_ranges(const std::string& path);

}  // namespace fatctx::tools
