// Finds the record that a command line names.
#pragma once

#include <string>

#include "fatctx/container.h"

namespace fatctx::tools {

// Finds a record by name, or by id, written "#3", for records without a name and names that are hard to type.
// Lifetime: strings borrow from `container`.
// Errors: not_found, listing the names; invalid_argument for a bad id.
[[nodiscard]] Result<RecordInfo> find_record(const Container& container, const std::string& text);

}  // namespace fatctx::tools
