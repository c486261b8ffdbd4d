#include "runtime/view/record_copy.h"

#include <fmt/format.h>

#include "container/read/open.h"
#include "container/read/record_hasher.h"
#include "fatctx/extract.h"
#include "runtime/open/attachments.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "runtime/view/copy_memory.h"
#include "runtime/view/sealed_copy.h"
#include "runtime/view/shared_views.h"
#include "runtime/view/view_of.h"

namespace fatctx {

namespace {

class RecordCopy final : public SharedView {
 public:
  RecordCopy(std::shared_ptr<const MappedContainer> container, std::shared_ptr<ViewAllocator> allocator) noexcept
      : SharedView(std::move(container)), memory_(std::move(allocator)) {}
  [[nodiscard]] CopyMemory& memory() noexcept { return memory_; }
  [[nodiscard]] const ViewAllocator::Block& block() const noexcept { return memory_.block(); }

 private:
  CopyMemory memory_;
};

// Errors name the file and the record.
Result<std::shared_ptr<const RecordCopy>> make_copy(const Container& container, const RecordInfo& record,
                                                    const std::shared_ptr<ViewAllocator>& allocator) {
  // Made before the block is allocated, so that nothing can fail between allocation and ownership.
  auto copy = std::make_shared<RecordCopy>(mapped_of(container), allocator);
  const auto about = [&](Error error) {
    return in_context(container::in_record(std::move(error), record), container.path());
  };
  auto taken = copy->memory().take(record.size_bytes);
  if (!taken.ok()) return about(std::move(taken).error());
  const ViewAllocator::Block& block = copy->block();
  FATCTX_TRY(read_record(container, record.id, {block.data, static_cast<std::size_t>(record.size_bytes)}));
  auto filled = copy->memory().filled();
  if (!filled.ok()) return about(std::move(filled).error());
  // Compares sealed memory once more: the bytes verified before could still be changed until they were sealed.
  if (allocator == sealed_allocator() &&
      !container::matches_record(mapped_of(container)->toc(), record,
                                 {block.data, static_cast<std::size_t>(record.size_bytes)})) {
    return about({ErrorCode::kChecksumMismatch,
                  "the copy was changed while it was made; somebody writes to the memory "
                  "of this process",
                  {.rule = "F37"}});
  }
  return std::shared_ptr<const RecordCopy>(std::move(copy));
}

}  // namespace

Result<RecordView> shared_copy(const Container& container, const RecordInfo& record,
                               const std::shared_ptr<ViewAllocator>& allocator, bool* made_now) {
  const auto& from = allocator ? allocator : heap_allocator();
  if (record.size_bytes == 0) {
    FATCTX_TRY(check_shown(container, record));
    return RecordView(mapped_of(container), record.id, {}, AccessPath::kCopied);
  }
  SharedViewClaim<RecordCopy> claim({mapped_of(container).get(), record.id, AccessPath::kCopied, from.get()});
  std::shared_ptr<const RecordCopy> copy = claim.live();
  if (!copy) {
    FATCTX_ASSIGN(copy, make_copy(container, record, from));
    claim.finish(copy);
    if (made_now != nullptr) *made_now = true;
  }
  const ByteView bytes(copy->block().data, static_cast<std::size_t>(record.size_bytes));
  return RecordView(attach_view(mapped_of(container), record, std::move(copy)), record.id, bytes, AccessPath::kCopied,
                    record.size_bytes);
}

}  // namespace fatctx
