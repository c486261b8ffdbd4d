// Tensors of a weight blob that is a recipe: where each lies in the file, if none of them has to be built.
#pragma once

#include <optional>
#include <vector>

#include "container/read/tensor_table.h"
#include "fatctx/container.h"

namespace fatctx {

// The bytes of each tensor in the mapping, by its index in the table, checked as Container::acquire checks them.
// Nothing if a tensor is more than one copy, or its elements are aligned in the blob but not in the file: then the blob
// has to be made. Requires: the record is a recipe, and the handle's views are not copies. Errors: those of
// Container::acquire.
[[nodiscard]] Result<std::optional<std::vector<ByteView>>> tensors_in_place(const Container& container,
                                                                            const RecordInfo& record,
                                                                            const container::ParsedTensorTable& table);

}  // namespace fatctx
