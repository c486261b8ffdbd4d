// Private copies: records in memory that nobody can change.
#pragma once

#include <memory>

#include "fatctx/file_mapping.h"

namespace fatctx {

// One for the whole process. Its filled() seals the block.
[[nodiscard]] const std::shared_ptr<ViewAllocator>& sealed_allocator();

}  // namespace fatctx
