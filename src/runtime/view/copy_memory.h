// Memory of an allocator into which bytes of a file are copied; it is given back exactly once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "fatctx/file_mapping.h"

namespace fatctx {

// Returns the allocator of ordinary heap memory, which the whole process may write to. One object per process.
[[nodiscard]] const std::shared_ptr<ViewAllocator>& heap_allocator();

// A block of an allocator. Threads: one at a time.
class CopyMemory {
 public:
  explicit CopyMemory(std::shared_ptr<ViewAllocator> allocator) noexcept : allocator_(std::move(allocator)) {}
  ~CopyMemory() {
    if (block_) allocator_->release(*block_);
  }
  CopyMemory(const CopyMemory&) = delete;
  CopyMemory& operator=(const CopyMemory&) = delete;

  // Allocates the block. Call it once. Errors: those of the allocator, with its name; internal (it returned a wrong
  // block).
  [[nodiscard]] Status take(std::uint64_t size_bytes);
  // Tells the allocator that the bytes are complete. Errors: those of the allocator.
  [[nodiscard]] Status filled();
  // Returns the block. Requires: take() succeeded.
  [[nodiscard]] const ViewAllocator::Block& block() const noexcept { return *block_; }

 private:
  std::shared_ptr<ViewAllocator> allocator_;
  std::optional<ViewAllocator::Block> block_;
};

}  // namespace fatctx
