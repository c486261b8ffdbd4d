#include "runtime/view/view_of.h"

#include <vector>

#include "container/read/open.h"
#include "container/read/pieces.h"
#include "runtime/open/attachments.h"
#include "runtime/open/container_impl.h"
#include "runtime/view/beside_checks.h"
#include "runtime/view/composed_view.h"
#include "runtime/view/record_copy.h"
#include "runtime/view/sealed_copy.h"
#include "runtime/view/stitched_view.h"

namespace fatctx {

namespace {

// Reads the first byte of a range that nobody has read to check it. If its page is absent, this reads a few pages; a
// fault of the map would read all around it, as much as the disk reads ahead. A read that fails says nothing that the
// user of the byte will not see.
void fetch_first_page(const MappedContainer& mapped, std::uint64_t file_offset) {
  std::byte first{};
  (void)mapped.file().read_at(file_offset, {&first, 1});
}

}  // namespace

Status check_shown(const Container& container, const RecordInfo& record) {
  const OpenOptions& options = options_of(container);
  if (options.verify == VerifyPolicy::kNone) return Done{};
  auto verified = container.impl().beside ? container.impl().beside->begin(record)
                                          : mapped_of(container)->verify_record(record, options.max_made_bytes);
  if (verified.ok()) return verified;
  return in_context(container::in_record(std::move(verified).error(), record), container.path());
}

Result<RecordView> view_of(const Container& container, std::uint32_t record_id) {
  const std::shared_ptr<const MappedContainer>& mapped = mapped_of(container);
  const OpenOptions& options = options_of(container);
  const container::Toc& toc = mapped->toc();
  FATCTX_ASSIGN(const RecordInfo* const record, mapped->find(record_id));
  if (record == nullptr) return container.record(record_id).error();
  const container::RecordForm& form = toc.forms[toc.index_of(*record)];
  auto supported = container::check_supported(*record, form);
  if (!supported.ok()) return in_context(std::move(supported).error(), container.path());
  if (container.impl().copies()) {
    const bool sealed = options.verify == VerifyPolicy::kPrivateCopy;
    return shared_copy(container, *record, sealed ? sealed_allocator() : options.allocator);
  }
  FATCTX_TRY(mapped->recheck());
  if (record->slice_count == 0) {
    FATCTX_TRY(check_shown(container, *record));  // an empty record has a hash, too
    return RecordView(attach_view(mapped, *record, nullptr), record_id, {});
  }
  if (is_composed(container, *record)) return composed_view(container, *record);
  if (record->slice_count > 1) {
    const std::vector<container::Piece> pieces = container::pieces_of(toc, *record);
    if (pieces.size() > 1) return pieced_view(container, *record, pieces);
  }
  FATCTX_TRY(check_shown(container, *record));
  if (options.verify == VerifyPolicy::kNone) fetch_first_page(*mapped, record->file_offset);
  // The range is within the mapping: rules F16 and F38 hold, and map_file() compared sizes.
  return RecordView(attach_view(mapped, *record, nullptr), record_id,
                    mapped->mapped().subspan(static_cast<std::size_t>(record->file_offset),
                                             static_cast<std::size_t>(record->size_bytes)));
}

}  // namespace fatctx
