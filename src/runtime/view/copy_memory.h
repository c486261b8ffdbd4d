// Memory that bytes of a file are copied into: of an allocator, given back once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "fatctx/file_mapping.h"

namespace fatctx {

// Memory of this process that anything in it may write to. One for the whole process.
[[nodiscard]] const std::shared_ptr<ViewAllocator>& heap_allocator();

// Threads: one at a time.
class CopyMemory {
 public:
  explicit CopyMemory(std::shared_ptr<ViewAllocator> allocator) noexcept : allocator_(std::move(allocator)) {}
  ~CopyMemory() {
    if (block_) allocator_->release(*block_);
  }
  CopyMemory(const CopyMemory&) = delete;
  CopyMemory& operator=(const CopyMemory&) = delete;

  // Once. Errors: those of the allocator, in whose name they are; internal (it gave something else).
  [[nodiscard]] Status take(std::uint64_t size_bytes);
  // When the bytes are there. Errors: those of the allocator.
  [[nodiscard]] Status filled();
  // Requires: take() succeeded.
  [[nodiscard]] const ViewAllocator::Block& block() const noexcept { return *block_; }

 private:
  std::shared_ptr<ViewAllocator> allocator_;
  std::optional<ViewAllocator::Block> block_;
};

}  // namespace fatctx
