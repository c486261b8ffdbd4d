#include "runtime/record_copy.h"

#include <algorithm>
#include <new>
#include <optional>

#include <fmt/format.h>

#include "base/immortal.h"
#include "container/open.h"
#include "container/record_hasher.h"
#include "fatctx/extract.h"
#include "mapping/fork_hook.h"
#include "runtime/attachments.h"
#include "runtime/live_table.h"
#include "runtime/mapped_container.h"
#include "runtime/record_reader.h"
#include "runtime/sealed_copy.h"

namespace fatctx {

namespace {

constexpr std::uint64_t kAlignment = std::uint64_t{64} * 1024;  // as records are aligned in the file

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

struct CopyKey {
  const MappedContainer* container = nullptr;
  std::uint32_t record_id = 0;
  const ViewAllocator* allocator = nullptr;
  friend bool operator==(const CopyKey&, const CopyKey&) = default;
};

struct CopyKeyHash {
  std::size_t operator()(const CopyKey& key) const noexcept {
    return std::hash<const void*>{}(key.container) ^ std::hash<const void*>{}(key.allocator) * 31 ^
           std::size_t{key.record_id} * 1009;
  }
};

// Holds the container, so that no other one can come to lie at the address in its key.
class RecordCopy {
 public:
  RecordCopy(std::shared_ptr<const MappedContainer> container, std::shared_ptr<ViewAllocator> allocator) noexcept
      : container_(std::move(container)), allocator_(std::move(allocator)) {}
  ~RecordCopy() {
    if (block_) allocator_->release(*block_);
  }
  RecordCopy(const RecordCopy&) = delete;
  RecordCopy& operator=(const RecordCopy&) = delete;
  // Once. Released with this object.
  void own(const ViewAllocator::Block& block) noexcept { block_ = block; }
  [[nodiscard]] const ViewAllocator::Block& block() const noexcept { return *block_; }

 private:
  std::shared_ptr<const MappedContainer> container_;
  std::shared_ptr<ViewAllocator> allocator_;
  std::optional<ViewAllocator::Block> block_;
};

using CopyTable = LiveTable<CopyKey, RecordCopy, CopyKeyHash>;

constinit Immortal<CopyTable> copies_of_the_process;
CopyTable& copies() { return copies_of_the_process.get(); }

[[maybe_unused]] const bool fork_hooks_installed = mapping::install_fork_hooks_of<&copies>();

constinit Immortal<std::shared_ptr<ViewAllocator>> heap;

Result<std::shared_ptr<const RecordCopy>> make_copy(const Container& container, const RecordInfo& record,
                                                    const std::shared_ptr<ViewAllocator>& allocator) {
  // Before the block, so that nothing can fail between its allocation and its ownership.
  auto copy = std::make_shared<RecordCopy>(RecordReader::of(container), allocator);
  auto allocated = allocator->allocate(record.size_bytes, kAlignment);
  if (!allocated.ok()) return in_context(std::move(allocated).error(), allocator->name());
  const ViewAllocator::Block block = allocated.value();
  copy->own(block);
  if (block.data == nullptr || block.size_bytes < record.size_bytes) {
    return Error{ErrorCode::kInternal, fmt::format("{}: gave {} bytes in place of {}", allocator->name(),
                                                   block.size_bytes, record.size_bytes)};
  }
  if (reinterpret_cast<std::uintptr_t>(block.data) % 4096 != 0) {
    return Error{ErrorCode::kInternal,
                 fmt::format("{}: gave memory that is not aligned to {} bytes", allocator->name(), kAlignment)};
  }
  std::byte* at = block.data;
  FATCTX_TRY(stream_record(container, record.id, [&](ByteView bytes) -> Status {
    at = std::copy(bytes.begin(), bytes.end(), at);
    return Done{};
  }));
  auto filled = allocator->filled(block);
  if (!filled.ok()) return in_context(std::move(filled).error(), allocator->name());
  // What nobody can change any more is looked at once more: what was verified before could be changed until then.
  if (allocator == sealed_allocator() &&
      !container::matches_record(RecordReader::of(container)->toc(), record,
                                 {block.data, static_cast<std::size_t>(record.size_bytes)})) {
    return Error{ErrorCode::kChecksumMismatch,
                 "the copy was changed while it was made; somebody writes to the memory "
                 "of this process",
                 {.rule = "F37"}};
  }
  return std::shared_ptr<const RecordCopy>(std::move(copy));
}

}  // namespace

Result<RecordView> shared_copy(const Container& container, const RecordInfo& record,
                               const std::shared_ptr<ViewAllocator>& allocator, bool* made_now) {
  const auto& from = allocator ? allocator : heap.get([] {
    return std::make_unique<std::shared_ptr<ViewAllocator>>(std::make_shared<HeapAllocator>());
  });
  if (record.size_bytes == 0) return RecordView(RecordReader::of(container), record.id, {}, AccessPath::kCopied);
  CopyTable::Claim claim(copies(), {RecordReader::of(container).get(), record.id, from.get()});
  std::shared_ptr<const RecordCopy> copy = claim.live();
  if (!copy) {
    auto made = make_copy(container, record, from);
    if (!made.ok()) return in_context(container::in_record(std::move(made).error(), record), container.report().path);
    copy = std::move(made).value();
    claim.finish(copy);
    if (made_now != nullptr) *made_now = true;
  }
  const ByteView bytes(copy->block().data, static_cast<std::size_t>(record.size_bytes));
  return RecordView(attach_view(RecordReader::of(container), record, std::move(copy)), record.id, bytes,
                    AccessPath::kCopied, record.size_bytes);
}

}  // namespace fatctx
