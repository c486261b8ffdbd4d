#include "runtime/open/mapped_container.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/name_index.h"
#include "container/read/checked_bytes.h"
#include "container/read/leaves.h"
#include "container/read/open.h"
#include "container/read/pieces.h"
#include "container/read/record_hasher.h"
#include "container/read/record_stream.h"
#include "container/read/stored_rows.h"
#include "mapping/mapped_file.h"
#include "runtime/observe/observe.h"
#include "runtime/open/file_mapping.h"
#include "runtime/open/step_watch.h"

namespace fatctx {
namespace {

void nobody_looks(std::uint64_t /*leaf*/, ByteView /*bytes*/) {}

}  // namespace

MappedContainer::MappedContainer(std::string name, std::unique_ptr<mapping::OsFile> file, container::OpenedToc opened,
                                 const mapping::FileIdentity& identity, std::shared_ptr<MappingProvider> provider)
    : name_(std::move(name)),
      file_(std::move(file)),
      header_(std::move(opened.header)),
      toc_(std::move(opened.toc)),
      partial_(opened.whole ? nullptr : std::make_unique<container::PartialToc>(*file_, header_, toc_)),
      provider_(std::move(provider)),
      tensor_tables_(toc_.records.size()),
      looks_(identity),
      attachments_(toc_.records.size()) {}

MappedContainer::~MappedContainer() {
  if (const mapping::MappedRegion* region = region_.load(std::memory_order_relaxed)) {
    observe::Span span(ProfileEventKind::kUnmap, name_);
    const std::uint64_t size = region->bytes().size();
    delete region;
    span.succeeded(size);
  }
}

const mapping::FilesystemKind& MappedContainer::filesystem() const noexcept {
  std::call_once(filesystem_asked_, [&] {
    const int descriptor = file_->descriptor();
    filesystem_ = descriptor < 0 ? mapping::FilesystemKind{.name = "memory"} : mapping::filesystem_kind(descriptor);
  });
  return filesystem_;
}

Status MappedContainer::ensure_mapped() const {
  if (region_.load(std::memory_order_acquire) != nullptr) return Done{};
  observe::Span span(ProfileEventKind::kMap, name_);
  FATCTX_ASSIGN(std::unique_ptr<const mapping::MappedRegion> region,
                map_region(*file_, header_.committed_end, provider_));
  span.succeeded(header_.committed_end);
  const mapping::MappedRegion* none = nullptr;
  if (region_.compare_exchange_strong(none, region.get(), std::memory_order_acq_rel)) (void)region.release();
  return Done{};  // if another thread was first, our mapping is undone here
}

bool MappedContainer::same_container(const container::Header& other) const noexcept {
  return other.uuid == header_.uuid && other.generation == header_.generation && other.toc_hash == header_.toc_hash;
}

void MappedContainer::renew(const mapping::FileIdentity& identity) const noexcept {
  const std::uint64_t known = looks_.number();
  if (!looks_.last_was(identity)) looks_.begin(identity, known);
}

bool MappedContainer::lost() const noexcept {
  const mapping::MappedRegion* region = this->region();
  return (region != nullptr && region->lost()) || stitched_lost_.load(std::memory_order_acquire);
}

Status MappedContainer::check_not_lost() const {
  if (!lost()) return Done{};
  return Error{
      ErrorCode::kMappingLost,
      fmt::format("{}: bytes of the file went away while they were mapped, and read as zeros "
                  "now; results computed from them are not valid; open the file again, and replace files by rename",
                  name_)};
}

Status MappedContainer::recheck() const {
  FATCTX_TRY(check_not_lost());
  FATCTX_ASSIGN(mapping::FileIdentity now, file_->identity());
  std::uint64_t known = looks_.number();
  if (looks_.last_was(now)) return Done{};
  const auto changed = [&](const std::string& how) {
    return in_context(Error{ErrorCode::kChanged, fmt::format("the file {} while it was open; open it again", how)},
                      name_);
  };
  if (now.size < header_.committed_end) return changed(fmt::format("was cut to {} bytes", now.size));
  const mapping::FileIdentity first = now;
  const auto header = container::read_growing_header(*file_, now);
  if (!(now == first)) known = looks_.number();  // the identity was queried once more
  // An append adds a later generation behind ours and does not touch our bytes.
  const bool appended =
      header.ok() && header.value().uuid == header_.uuid && header.value().generation > header_.generation;
  if (!header.ok() || (!appended && !same_container(header.value()))) return changed("was rewritten");
  if (appended) superseded_.store(true, std::memory_order_release);
  looks_.begin(now, known);
  return Done{};
}

Error MappedContainer::damaged(const RecordInfo& record, std::uint64_t look, Error error) const {
  const bool absent = error.code == ErrorCode::kNotPresent;
  if (!absent && error.code != ErrorCode::kChecksumMismatch && error.code != ErrorCode::kMalformed) return error;
  counted(record).damaged.store(look, std::memory_order_relaxed);
  if (!absent) error.message += "; run `fatctx verify` and fetch the file again";
  return error;
}

Status MappedContainer::check_zero_behind(const RecordInfo& record) const {
  const ByteRange behind = container::behind_last_granule(toc_, record, header_.granule_log2);
  // At most 64 KiB. A last granule that the end of the container truncates is never mapped (stitch_obstacle).
  std::vector<std::byte> rest(within(behind, header_.committed_end) ? static_cast<std::size_t>(behind.size) : 0);
  FATCTX_TRY(file_->read_at(behind.offset, rest));
  if (container::all_zero(rest)) return Done{};
  return Error{ErrorCode::kMalformed,
               fmt::format("its last granule is not filled with zeros behind byte {:#x} of the file", behind.offset),
               {.file_offset = behind.offset, .rule = "F35"}};
}

Status MappedContainer::verify_record(const RecordInfo& record, std::uint64_t max_made_bytes) const {
  // Uses one number for the whole check: a look that begins meanwhile is seen at the next acquire.
  const std::uint64_t look = this->look();
  Attachments::OfRecord& counted = this->counted(record);
  if (counted.whole.load(std::memory_order_relaxed) == look) return Done{};
  observe::Span span(ProfileEventKind::kVerify, name_);
  span.about(record);
  auto verified =
      container::check_logical(mapping::MappedFile(*file_, region()), toc_, record, container::LeafHash::kXxh3,
                               container::WorkBudget(toc_, max_made_bytes), &StepWatch::step);
  if (verified.ok()) verified = check_zero_behind(record);
  if (!verified.ok()) return damaged(record, look, std::move(verified).error());
  counted.whole.store(look, std::memory_order_relaxed);
  span.succeeded(record.size_bytes);
  return Done{};
}

Status MappedContainer::verify_ranges(const RecordInfo& record, std::span<const ByteRange> in_file) const {
  const std::uint64_t look = this->look();  // as in verify_record()
  Attachments::OfRecord& counted = this->counted(record);
  if (counted.ranges.load(std::memory_order_relaxed) == look) return Done{};
  const container::SegmentFinder segments(toc_, record);
  std::vector<container::SegmentLeaves> leaves;
  std::uint64_t bytes = 0;
  for (const ByteRange& range : in_file) {
    if (range.size == 0) continue;
    const std::uint32_t segment = segments.at(range.offset);
    leaves.push_back({segment, container::leaves_touched({range.offset - toc_.segments[segment].offset, range.size})});
    bytes += range.size;
  }
  container::sort_and_join(leaves);
  observe::Span span(ProfileEventKind::kVerify, name_);
  span.about(record);
  for (const container::SegmentLeaves& run : leaves) {
    const container::Segment& segment = toc_.segments[run.segment];
    auto hashes = container::read_leaves(*file_, toc_, segment, container::leaf_hash_of(toc_), run.range);
    if (!hashes.ok()) return damaged(record, look, std::move(hashes).error());
    auto walked = container::compare_leaves(mapping::MappedFile(*file_, region()), segment, hashes.value(), run.range,
                                            nobody_looks, &StepWatch::step);
    if (!walked.ok()) return damaged(record, look, std::move(walked).error());
  }
  counted.ranges.store(look, std::memory_order_relaxed);
  span.succeeded(bytes);
  return Done{};
}

Status MappedContainer::verify_part(const RecordInfo& record, ByteRange in_file) const {
  const std::uint64_t look = this->look();  // as in verify_record()
  if (in_file.size == 0 || counted(record).whole.load(std::memory_order_relaxed) == look) return Done{};
  const container::Slice& slice = toc_.slices[toc_.forms[toc_.index_of(record)].first_slice];
  const container::Segment& segment = toc_.segments[slice.segment];
  observe::Span span(ProfileEventKind::kVerify, name_);
  span.about(record);
  const container::LeafRange range = container::leaves_touched({in_file.offset - segment.offset, in_file.size});
  auto hashes = container::read_leaves(*file_, toc_, segment, container::leaf_hash_of(toc_), range);
  if (!hashes.ok()) return damaged(record, look, std::move(hashes).error());
  auto walked = container::compare_leaves(mapping::MappedFile(*file_, region()), segment, hashes.value(), range,
                                          nobody_looks, &StepWatch::step);
  if (!walked.ok()) return damaged(record, look, std::move(walked).error());
  span.succeeded(in_file.size);
  return Done{};
}

Result<std::uint64_t> MappedContainer::verify_composed(const RecordInfo& record,
                                                       std::span<const mapping::MixedPiece> pieces,
                                                       const BuiltBytes& built, std::uint64_t known,
                                                       const container::WorkBudget& budget) const {
  const std::uint64_t look = this->look();  // as in verify_record()
  if (look == known) return known;
  observe::Span span(ProfileEventKind::kVerify, name_);
  span.about(record);
  FATCTX_TRY(budget.make(record.size_bytes));
  const mapping::MappedFile file(*file_, region());
  container::CheckedBytes checked(file, toc_, record, budget);
  container::RecordHasher hasher(toc_);
  std::uint64_t at = 0;
  for (const mapping::MixedPiece& piece : pieces) {
    if (piece.built) hasher.update(built(at, piece));
    at += piece.size;
    // A piece may continue in the next segment.
    for (ByteRange left = piece.built ? ByteRange{} : ByteRange{piece.offset, piece.size}; left.size != 0;) {
      const std::uint32_t number = checked.segment_at(left.offset);
      const container::Segment& segment = toc_.segments[number];
      const std::uint64_t size = std::min(left.size, segment.offset + segment.size - left.offset);
      auto read = checked.see(
          number, {left.offset - segment.offset, size}, [&](ByteView bytes) { hasher.update(bytes); },
          &StepWatch::step);
      if (!read.ok()) return damaged(record, look, std::move(read).error());
      left = {left.offset + size, left.size - size};
    }
  }
  if (!hasher.matches(record)) {
    return damaged(record, look,
                   {ErrorCode::kChecksumMismatch, "its composed bytes do not have its hash", {.rule = "F37"}});
  }
  counted(record).composed.store(look, std::memory_order_relaxed);
  span.succeeded(record.size_bytes);
  return look;
}

RecordState MappedContainer::verification_of(const RecordInfo& record) const {
  const std::size_t index = toc_.index_of(record);
  if (!container::check_supported(record, toc_.forms[index]).ok()) return RecordState::kUnknown;
  // An empty record has no bytes that could be damaged. A view may have found that its hash is another one.
  const RecordState before = record.slice_count == 0 ? RecordState::kOk : RecordState::kUnknown;
  const Attachments::OfRecord* counted = attachments_.find(index);
  if (counted == nullptr) return before;
  const std::uint64_t look = this->look();
  const auto found = [&](const std::atomic<std::uint64_t>& in) { return in.load(std::memory_order_relaxed) == look; };
  if (found(counted->whole) || found(counted->composed)) return RecordState::kOk;
  return found(counted->damaged) ? RecordState::kBad : before;
}

Error MappedContainer::in_table(Error error) const {
  auto now = recheck();  // pages of another table would not match either
  if (!now.ok()) return std::move(now).error();
  return in_context(std::move(error), name_);
}

Status MappedContainer::need_all() const {
  if (partial_ == nullptr || partial_->whole()) return Done{};
  auto needed = partial_->need_all();
  return needed.ok() ? std::move(needed) : in_table(std::move(needed).error());
}

std::vector<const RecordInfo*> MappedContainer::known_records() const {
  if (partial_ != nullptr && !partial_->whole()) return partial_->known();
  std::vector<const RecordInfo*> all;
  all.reserve(toc_.records.size());
  for (const RecordInfo& record : toc_.records) all.push_back(&record);
  return all;
}

std::uint32_t MappedContainer::degraded() const noexcept {
  return header_.degraded | (partial_ == nullptr ? 0 : partial_->degraded());
}

Result<const RecordInfo*> MappedContainer::find(std::uint32_t id) const {
  if (partial_ == nullptr || partial_->whole()) return toc_.find(id);
  auto found = partial_->find(id);
  return found.ok() ? std::move(found) : in_table(std::move(found).error());
}

Result<const RecordInfo*> MappedContainer::find(std::string_view name) const {
  if (partial_ != nullptr && !partial_->whole()) {
    auto found = partial_->find(name);
    return found.ok() ? std::move(found) : in_table(std::move(found).error());
  }
  const RawArray<RecordInfo>& records = toc_.records;
  const container::StoredRows rows(toc_);
  const auto row_at = [&](std::uint64_t at) -> Result<container::NameIndexEntry> {
    return rows.row<container::NameIndexEntry>(container::Table::kNameIndex, at);
  };
  const auto name_is = [&](std::uint32_t record) -> Result<bool> { return records[record].name == name; };  // F45
  const auto found = container::find_name(name, records.size(), row_at, name_is);
  return found.ok() && found.value() ? &records[*found.value()] : nullptr;
}

Result<const container::ParsedTensorTable*> MappedContainer::tensor_table(const RecordInfo& record,
                                                                          std::uint64_t blob_size,
                                                                          std::uint64_t max_made_bytes) const {
  std::atomic<const container::ParsedTensorTable*>& slot = tensor_tables_.at(toc_.index_of(record)).table;
  const container::ParsedTensorTable* table = slot.load(std::memory_order_acquire);
  if (table != nullptr) return table;
  const container::WorkBudget budget(toc_, max_made_bytes);
  FATCTX_ASSIGN(const container::MetadataBytes read, container::read_metadata_record(*file_, toc_, record, budget));
  const container::RecordForm& form = toc_.forms[toc_.index_of(record)];
  auto parsed = container::parse_tensor_table(read.bytes, blob_size, toc_.newer_fields,
                                              &toc_.references[form.link].table_hash);  // F27: it has one
  if (!parsed.ok()) {
    Error error = container::in_record(std::move(parsed).error(), record);
    if (error.where.file_offset) {
      error.where.file_offset = container::place_in_file(toc_, record, *error.where.file_offset);
    }
    return error;
  }
  auto fresh = std::make_unique<const container::ParsedTensorTable>(std::move(parsed).value());
  if (slot.compare_exchange_strong(table, fresh.get(), std::memory_order_acq_rel)) return fresh.release();
  return table;  // another thread was first; our table is dropped
}

}  // namespace fatctx
