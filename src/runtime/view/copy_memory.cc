#include "runtime/view/copy_memory.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "base/immortal.h"

namespace fatctx {
namespace {

constexpr std::uint64_t kAlignment = std::uint64_t{64} * 1024;  // the same as that of records in the file

class HeapAllocator final : public ViewAllocator {
 public:
  std::string_view name() const noexcept override { return "the heap"; }
  Result<Block> allocate(std::uint64_t size_bytes, std::uint64_t alignment) override {
    void* data = ::operator new (static_cast<std::size_t>(size_bytes),
                                 std::align_val_t{static_cast<std::size_t>(alignment)}, std::nothrow);
    if (data == nullptr) {
      return Error{ErrorCode::kOutOfMemory, fmt::format("a copy of {} bytes does not fit into memory", size_bytes)};
    }
    return Block{.data = static_cast<std::byte*>(data), .size_bytes = size_bytes};
  }
  void release(const Block& block) noexcept override { ::operator delete (block.data, std::align_val_t{kAlignment}); }
};

constinit Immortal<std::shared_ptr<ViewAllocator>> heap;

}  // namespace

const std::shared_ptr<ViewAllocator>& heap_allocator() {
  return heap.get([] { return std::make_unique<std::shared_ptr<ViewAllocator>>(std::make_shared<HeapAllocator>()); });
}

Status CopyMemory::take(std::uint64_t size_bytes) {
  auto allocated = allocator_->allocate(size_bytes, kAlignment);
  if (!allocated.ok()) return in_context(std::move(allocated).error(), allocator_->name());
  block_ = allocated.value();
  if (block_->data == nullptr || block_->size_bytes < size_bytes) {
    return Error{ErrorCode::kInternal,
                 fmt::format("{}: gave {} bytes instead of {}", allocator_->name(), block_->size_bytes, size_bytes)};
  }
  if (reinterpret_cast<std::uintptr_t>(block_->data) % 4096 != 0) {
    return Error{ErrorCode::kInternal,
                 fmt::format("{}: gave memory that is not aligned to {} bytes", allocator_->name(), kAlignment)};
  }
  return Done{};
}

Status CopyMemory::filled() {
  auto filled = allocator_->filled(*block_);
  if (!filled.ok()) return in_context(std::move(filled).error(), allocator_->name());
  return Done{};
}

}  // namespace fatctx
