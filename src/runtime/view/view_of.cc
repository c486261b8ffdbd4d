#include "runtime/view/view_of.h"

#include <vector>

#include "container/read/open.h"
#include "container/read/pieces.h"
#include "runtime/open/attachments.h"
#include "runtime/open/container_impl.h"
#include "runtime/view/composed_view.h"
#include "runtime/view/record_copy.h"
#include "runtime/view/sealed_copy.h"
#include "runtime/view/stitched_view.h"

namespace fatctx {

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
  if (record->slice_count == 0) return RecordView(attach_view(mapped, *record, nullptr), record_id, {});
  if (is_composed(container, *record)) return composed_view(container, *record);
  if (record->slice_count > 1) {
    const std::vector<container::Piece> pieces = container::pieces_of(toc, *record);
    if (pieces.size() > 1) return pieced_view(container, *record, pieces);
  }
  if (options.verify == VerifyPolicy::kRecordOnAcquire) {
    auto verified = mapped->verify_record(*record, options.max_made_bytes);
    if (!verified.ok()) return in_context(container::in_record(std::move(verified).error(), *record), mapped->name());
  }
  // The range is within the mapping: rules F16 and F38 hold, and map_file() compared sizes.
  return RecordView(attach_view(mapped, *record, nullptr), record_id,
                    mapped->mapped().subspan(static_cast<std::size_t>(record->file_offset),
                                             static_cast<std::size_t>(record->size_bytes)));
}

}  // namespace fatctx
