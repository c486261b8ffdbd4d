#include "runtime/view/stitched_view.h"

#include <vector>

#include <fmt/format.h>

#include "container/read/open.h"
#include "mapping/stitched_region.h"
#include "runtime/observe/observe.h"
#include "runtime/open/attachments.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/file_mapping.h"
#include "runtime/open/mapped_container.h"
#include "runtime/view/record_copy.h"
#include "runtime/view/shared_views.h"
#include "runtime/view/view_of.h"

namespace fatctx {
namespace {

// A stitched range of addresses. It is unmapped before its container is destroyed, because the guard sets a flag there.
class StitchedRecord final : public SharedView {
 public:
  StitchedRecord(std::shared_ptr<const MappedContainer> container,
                 std::unique_ptr<const mapping::MappedRegion> region) noexcept
      : SharedView(std::move(container)), region_(std::move(region)) {}
  ~StitchedRecord() override {
    observe::Span span(ProfileEventKind::kUnmap, container().name());
    const std::uint64_t size = region_->bytes().size();
    region_.reset();
    span.succeeded(size);
  }
  StitchedRecord(const StitchedRecord&) = delete;
  StitchedRecord& operator=(const StitchedRecord&) = delete;
  [[nodiscard]] const mapping::MappedRegion& region() const noexcept { return *region_; }

 private:
  std::unique_ptr<const mapping::MappedRegion> region_;
};

std::vector<mapping::FilePiece> file_pieces(std::span<const container::Piece> pieces) {
  std::vector<mapping::FilePiece> in_file;
  in_file.reserve(pieces.size());
  for (const container::Piece& piece : pieces) in_file.push_back({piece.in_file.offset, piece.in_file.size});
  return in_file;
}

Result<std::shared_ptr<const StitchedRecord>> make_stitched(const std::shared_ptr<const MappedContainer>& mapped,
                                                            const RecordInfo& record,
                                                            std::span<const container::Piece> pieces,
                                                            const StitchHost& host) {
  // The reservation is split into pieces; its remainder is one more map for that time.
  if (const auto maps = host.maps()) FATCTX_TRY(mapping::check_map_budget(*maps, pieces.size() + 1));
  observe::Span span(ProfileEventKind::kMap, mapped->name());
  span.about(record);
  FATCTX_ASSIGN(std::unique_ptr<const mapping::MappedRegion> region,
                mapping::map_stitched(mapped->file(), file_pieces(pieces), &mapped->stitched_lost()));
  span.succeeded(region->bytes().size());
  return std::shared_ptr<const StitchedRecord>(std::make_shared<const StitchedRecord>(mapped, std::move(region)));
}

Result<RecordView> copied_view(const Container& container, const RecordInfo& record, const std::string& obstacle) {
  if (options_of(container).file_mapping == FileMapping::kRequire) {
    return pieces_not_mapped(container.path(), record, obstacle);
  }
  bool made = false;
  auto copy = shared_copy(container, record, nullptr, &made);
  if (made) count_file_mapping_fallback();
  return copy;
}

}  // namespace

std::string stitch_obstacle(const MappedContainer& mapped, const RecordInfo& record,
                            std::span<const container::Piece> pieces, const StitchHost& host) {
  if (mapped.file().descriptor() < 0) return "it consists of several pieces of a buffer, which cannot be mapped";
  if (mapped.mapped_by_provider())
    return "it consists of several pieces, which the mapping provider cannot put together";
  if (pieces.size() > host.most_pieces) {
    return fmt::format("it consists of {} pieces; at most {} are mapped side by side", pieces.size(), host.most_pieces);
  }
  const auto stitchable = mapping::check_stitchable(mapped.file(), file_pieces(pieces), host.page_bytes);
  if (!stitchable.ok()) return stitchable.error().message;
  const ByteRange behind = container::behind_last_granule(mapped.toc(), record, mapped.header().granule_log2);
  if (!within(behind, mapped.header().committed_end)) return "the end of the file cuts its last granule";
  return {};
}

Error pieces_not_mapped(const std::string& name, const RecordInfo& record, const std::string& obstacle) {
  return in_context(
      container::in_record(Error{ErrorCode::kCopyNotAllowed,
                                 fmt::format("mapping is required, and {}; with file mapping \"auto\" its {} bytes "
                                             "would be copied once",
                                             obstacle, record.size_bytes)},
                           record),
      name);
}

Result<RecordView> pieced_view(const Container& container, const RecordInfo& record,
                               std::span<const container::Piece> pieces, const StitchHost& host) {
  const std::shared_ptr<const MappedContainer>& mapped = mapped_of(container);
  const std::string obstacle = stitch_obstacle(*mapped, record, pieces, host);
  if (!obstacle.empty()) return copied_view(container, record, obstacle);
  FATCTX_TRY(check_shown(container, record));
  SharedViewClaim<StitchedRecord> claim({mapped.get(), record.id, AccessPath::kStitched});
  std::shared_ptr<const StitchedRecord> range = claim.live();
  if (!range) {
    auto made = make_stitched(mapped, record, pieces, host);
    if (!made.ok()) return in_context(container::in_record(std::move(made).error(), record), mapped->name());
    range = std::move(made).value();
    claim.finish(range);
  }
  const ByteView bytes = range->region().bytes();
  return RecordView(attach_view(mapped, record, std::move(range)), record.id, bytes, AccessPath::kStitched);
}

std::shared_ptr<const mapping::MappedRegion> live_stitched(const MappedContainer& mapped, std::uint32_t record_id) {
  auto record = live_view<StitchedRecord>(mapped, record_id, AccessPath::kStitched);
  if (!record) return nullptr;
  const mapping::MappedRegion* region = &record->region();
  return {std::move(record), region};
}

}  // namespace fatctx
