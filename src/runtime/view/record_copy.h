// One copy of a record per process, for consumers that cannot take mapped memory.
#pragma once

#include <memory>

#include "fatctx/container.h"

namespace fatctx {

// Returns a view of the copy that this process has of the record, in memory of `allocator` (null: the heap). If nobody
// holds a copy, makes and verifies one and sets `made` to true. Threads that ask at the same time wait for one of them.
// Errors: those of stream_record, out_of_memory (naming the bytes), those of the allocator.
[[nodiscard]] Result<RecordView> shared_copy(const Container& container, const RecordInfo& record,
                                             const std::shared_ptr<ViewAllocator>& allocator, bool* made = nullptr);

}  // namespace fatctx
