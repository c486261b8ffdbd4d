// Finds the tensors of a weight blob that is a recipe, if each of them can be read from the file directly.
#pragma once

#include <optional>
#include <vector>

#include "container/read/tensor_table.h"
#include "fatctx/container.h"

namespace fatctx {

// Returns the bytes of each tensor in the mapping, by its index in the table, checked as Container::acquire checks
// them.
// Returns nothing if a tensor is not exactly one copy, or if its elements are aligned in the blob but not in the file.
// The blob must then be built.
// Requires: the record is a recipe, and the handle's views are not copies. Errors: those of Container::acquire.
[[nodiscard]] Result<std::optional<std::vector<ByteView>>> tensors_in_place(const Container& container,
                                                                            const RecordInfo& record,
                                                                            const container::ParsedTensorTable& table);

}  // namespace fatctx
