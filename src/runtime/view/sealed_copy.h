// Private copies of records, in memory that nobody can write to.
#pragma once

#include <memory>

#include "fatctx/file_mapping.h"

namespace fatctx {

// Returns the allocator of sealed memory, one object per process. Its filled() seals the block.
[[nodiscard]] const std::shared_ptr<ViewAllocator>& sealed_allocator();

}  // namespace fatctx
