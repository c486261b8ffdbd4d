// Releases records, and keeps them in memory.
#include "runtime/view/record_memory.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "container/read/open.h"
#include "container/read/pieces.h"
#include "mapping/page_advice.h"
#include "mapping/page_lock.h"
#include "runtime/observe/observe.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "runtime/view/composed_view.h"
#include "runtime/view/stitched_view.h"

namespace fatctx {
namespace {

// Returns the ranges of the file whose pages show the record. For a composed view these are its mapped pieces: built
// pieces stay, and the sources of a recipe belong to other records.
std::vector<ByteRange> shown_ranges(const MappedContainer& mapped, const RecordInfo& record,
                                    const ComposedRecord* composed) {
  std::vector<ByteRange> ranges;
  if (composed != nullptr) {
    for (const mapping::MixedPiece& piece : composed->pieces()) {
      if (!piece.built) ranges.push_back({piece.offset, piece.size});
    }
    return ranges;
  }
  for (const container::Piece& piece : container::pieces_of(mapped.toc(), record)) ranges.push_back(piece.in_file);
  return ranges;
}

Result<std::uint64_t> drop_mapped(const ComposedRecord& composed) {
  std::uint64_t dropped = 0;
  ByteRange in_record;
  for (const mapping::MixedPiece& piece : composed.pieces()) {
    in_record = {in_record.offset + in_record.size, piece.size};
    if (piece.built && composed.cached() == nullptr) continue;  // dropping memory would lose its content
    FATCTX_ASSIGN(const std::uint64_t of_piece, mapping::drop_pages(composed.region().bytes(), in_record));
    dropped += of_piece;
  }
  return dropped;
}

// Drops the pages of the view, if there is one, and those of the mapped file, which a prefetch may have filled.
Result<std::uint64_t> drop(const MappedContainer& mapped, const RecordInfo& record, const ComposedRecord* composed,
                           std::span<const ByteRange> ranges) {
  std::uint64_t stitched_bytes = 0;
  if (composed != nullptr) {
    FATCTX_ASSIGN(stitched_bytes, drop_mapped(*composed));
  }
  if (const auto stitched = live_stitched(mapped, record.id)) {
    const ByteView bytes = stitched->bytes();
    FATCTX_ASSIGN(stitched_bytes, mapping::drop_pages(bytes, {0, bytes.size()}));
  }
  std::uint64_t dropped = 0;
  for (const ByteRange& range : ranges) {
    FATCTX_ASSIGN(const std::uint64_t of_piece, mapping::drop_pages(mapped.region()->bytes(), range));
    dropped += of_piece;
  }
  return std::max(dropped, stitched_bytes);  // both counts are of the same pages of memory
}

Status give_back(const Container& container, std::uint32_t record_id, const ReleaseOptions& options,
                 ReleaseReport& report) {
  FATCTX_TRY(check_has_view(container, record_id));
  const MappedContainer& mapped = *mapped_of(container);
  const RecordInfo& record = mapped.known(record_id);
  report.asked_bytes += record.size_bytes;
  FATCTX_TRY(mapped.check_not_lost());
  const mapping::MappedRegion* region = mapped.region();
  if (container.impl().copies() || region == nullptr || !region->backed_by_file()) return Done{};
  observe::Span span(ProfileEventKind::kRelease, container.path());
  span.about(record);
  const auto composed = live_composed(mapped, record_id);
  const std::vector<ByteRange> ranges = shown_ranges(mapped, record, composed.get());
  auto dropped = drop(mapped, record, composed.get(), ranges);
  if (!dropped.ok()) {
    return in_context(container::in_record(std::move(dropped).error(), record), container.path());
  }
  // Drops the page cache last: the system keeps pages that this process still has mapped.
  if (!options.keep_cached) {
    for (const ByteRange& range : ranges) mapping::drop_cache(mapped.file(), range);
  }
  report.released_bytes += dropped.value();
  span.succeeded(dropped.value());
  return Done{};
}

struct Held {
  RecordView view;
  mapping::PageLock lock;  // destroyed before the view
};

}  // namespace

Status check_has_view(const Container& container, std::uint32_t record_id) {
  const container::Toc& toc = mapped_of(container)->toc();
  FATCTX_ASSIGN(const RecordInfo* const record, mapped_of(container)->find(record_id));
  if (record == nullptr) return container.record(record_id).error();
  auto supported = container::check_supported(*record, toc.forms[toc.index_of(*record)]);
  if (!supported.ok()) return in_context(std::move(supported).error(), container.path());
  return Done{};
}

Result<ReleaseReport> release_records(const Container& container, std::span<const std::uint32_t> record_ids,
                                      const ReleaseOptions& options) {
  ReleaseReport report;
  for (const std::uint32_t id : record_ids) FATCTX_TRY(give_back(container, id, options, report));
  return report;
}

Result<ReleaseReport> Container::release(std::uint32_t record_id, const ReleaseOptions& options) const {
  return release_records(*this, {&record_id, 1}, options);
}

Result<RecordLock> Container::lock(std::uint32_t record_id) const {
  FATCTX_ASSIGN(RecordView view, acquire(record_id));
  auto locked = mapping::PageLock::of(view.bytes());
  if (!locked.ok()) {
    const RecordInfo& record = impl_->mapped->known(record_id);
    return in_context(container::in_record(std::move(locked).error(), record), path());
  }
  const std::uint64_t size = view.size_bytes();
  return RecordLock(std::make_shared<const Held>(Held{std::move(view), std::move(locked).value()}), record_id, size);
}

}  // namespace fatctx
