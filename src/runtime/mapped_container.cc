#include "runtime/mapped_container.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "container/checked_bytes.h"
#include "container/copy_out.h"
#include "container/open.h"
#include "container/pieces.h"
#include "container/record_hasher.h"
#include "runtime/file_mapping.h"
#include "runtime/observe.h"
#include "runtime/step_watch.h"

namespace fatctx {
namespace {

constexpr std::uint64_t kBitsPerWord = 64;

}  // namespace

Freshness::~Freshness() {
  for (std::size_t i = 0; i < segment_count_; ++i) delete[] good_[i].load(std::memory_order_relaxed);
}

bool Freshness::good(std::size_t segment, std::uint64_t leaf) const noexcept {
  // Acquire: whoever sees the bit map sees it zeroed.
  const Word* words = good_[segment].load(std::memory_order_acquire);
  return words != nullptr &&
         (words[leaf / kBitsPerWord].load(std::memory_order_relaxed) >> (leaf % kBitsPerWord) & 1) != 0;
}

bool Freshness::all_good(std::size_t segment, container::LeafRange range) const noexcept {
  for (std::uint64_t leaf = range.first; leaf < range.end; ++leaf) {
    if (!good(segment, leaf)) return false;
  }
  return true;
}

void Freshness::mark_good(std::size_t segment, std::uint64_t leaf, std::uint64_t leaf_count) {
  Word* words = good_[segment].load(std::memory_order_acquire);
  if (words == nullptr) {
    auto fresh = std::make_unique<Word[]>(static_cast<std::size_t>((leaf_count + kBitsPerWord - 1) / kBitsPerWord));
    if (good_[segment].compare_exchange_strong(words, fresh.get(), std::memory_order_acq_rel)) words = fresh.release();
  }
  words[leaf / kBitsPerWord].fetch_or(std::uint64_t{1} << (leaf % kBitsPerWord), std::memory_order_relaxed);
}

MappedContainer::MappedContainer(std::string name, std::unique_ptr<mapping::OsFile> file, container::Header header,
                                 container::Toc toc, const mapping::FileIdentity& identity,
                                 mapping::FilesystemKind filesystem, std::shared_ptr<MappingProvider> provider)
    : name_(std::move(name)),
      file_(std::move(file)),
      header_(header),
      toc_(std::move(toc)),
      filesystem_(filesystem),
      provider_(std::move(provider)),
      tensor_tables_(std::make_unique<std::atomic<const container::ParsedTensorTable*>[]>(toc_.records.size())),
      freshness_(std::make_unique<const Freshness>(identity, toc_.segments.size()).release()) {}

MappedContainer::~MappedContainer() {
  if (const mapping::MappedRegion* region = region_.load(std::memory_order_relaxed)) {
    observe::Span span(ProfileEventKind::kUnmap, name_);
    const std::uint64_t size = region->bytes().size();
    delete region;
    span.succeeded(size);
  }
  delete freshness_.load(std::memory_order_relaxed);
  delete by_name_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < toc_.records.size(); ++i) delete tensor_tables_[i].load(std::memory_order_relaxed);
}

Status MappedContainer::ensure_mapped() const {
  if (region_.load(std::memory_order_acquire) != nullptr) return Done{};
  observe::Span span(ProfileEventKind::kMap, name_);
  FATCTX_ASSIGN(std::unique_ptr<const mapping::MappedRegion> region,
                map_region(*file_, header_.committed_end, provider_));
  span.succeeded(header_.committed_end);
  const mapping::MappedRegion* none = nullptr;
  if (region_.compare_exchange_strong(none, region.get(), std::memory_order_acq_rel)) (void)region.release();
  return Done{};  // another thread may have been first; ours is then undone here
}

bool MappedContainer::same_container(const container::Header& other) const noexcept {
  return other.uuid == header_.uuid && other.generation == header_.generation && other.toc_hash == header_.toc_hash;
}

void MappedContainer::renew(const mapping::FileIdentity& identity) const {
  const Freshness* current = freshness_.load(std::memory_order_acquire);
  if (current->identity() == identity) return;
  auto fresh = std::make_unique<Freshness>(identity, toc_.segments.size());
  fresh->previous.reset(current);
  // Losing the race means that somebody else has just looked at the file: his answer is as good as ours.
  if (freshness_.compare_exchange_strong(current, fresh.get(), std::memory_order_acq_rel)) {
    (void)fresh.release();
  } else {
    (void)fresh->previous.release();
  }
}

bool MappedContainer::lost() const noexcept {
  const mapping::MappedRegion* region = this->region();
  return (region != nullptr && region->lost()) || stitched_lost_.load(std::memory_order_acquire);
}

Status MappedContainer::check_not_lost() const {
  if (!lost()) return Done{};
  return Error{
      ErrorCode::kMappingLost,
      fmt::format("{}: bytes of the file went away while they were mapped, and zeros stand in their place; what "
                  "was computed from them is not valid; open the file again, and replace files by rename",
                  name_)};
}

Status MappedContainer::recheck() const {
  FATCTX_TRY(check_not_lost());
  FATCTX_ASSIGN(mapping::FileIdentity now, file_->identity());
  if (now == identity()) return Done{};
  const auto changed = [&](const std::string& how) {
    return in_context(Error{ErrorCode::kChanged, fmt::format("the file {} while it was open; open it again", how)},
                      name_);
  };
  if (now.size < header_.committed_end) return changed(fmt::format("was cut to {} bytes", now.size));
  const auto header = container::read_growing_header(*file_, now);
  // A later generation of the same container has been appended behind ours, whose bytes it does not touch.
  const bool appended =
      header.ok() && header.value().uuid == header_.uuid && header.value().generation > header_.generation;
  if (!header.ok() || (!appended && !same_container(header.value()))) return changed("was rewritten");
  if (appended) superseded_.store(true, std::memory_order_release);
  renew(now);
  return Done{};
}

Status MappedContainer::check_leaves(const RecordInfo& record, std::vector<container::SegmentLeaves> unknown,
                                     Freshness& fresh) const {
  container::sort_and_join(unknown);
  container::LeafHashes hashes(*file_, toc_);
  for (const container::SegmentLeaves& run : unknown) {
    const container::Segment& segment = toc_.segments[run.segment];
    FATCTX_ASSIGN(const container::Leaves* leaves, hashes.of(run.segment));
    FATCTX_TRY(container::walk_leaves(
        *file_, segment, *leaves, run.range, [&](std::uint64_t leaf, ByteView found, bool good) -> Status {
          if (!good) {
            const std::size_t index = toc_.index_of(record);
            attachments_.at(index, toc_.records.size()).damaged.store(&fresh, std::memory_order_relaxed);
            const std::uint64_t at = segment.offset + (leaf << container::kLeafLog2);
            return Error{ErrorCode::kChecksumMismatch,
                         fmt::format("bytes {:#x} to {:#x} of the file are damaged; run `fatctx verify` and fetch the "
                                     "file again",
                                     at, at + found.size()),
                         {.file_offset = at, .rule = "F26"}};
          }
          fresh.mark_good(run.segment, leaf, segment.leaf_count());
          return StepWatch::step(found.size());
        }));
  }
  return Done{};
}

Status MappedContainer::verify_ranges(const RecordInfo& record, std::span<const ByteRange> in_file) const {
  auto* fresh = const_cast<Freshness*>(freshness_.load(std::memory_order_acquire));  // as in verify_record()
  std::vector<container::SegmentLeaves> unknown;
  std::uint64_t bytes = 0;
  for (const ByteRange& range : in_file) {
    if (range.size == 0) continue;
    const auto next = std::upper_bound(
        toc_.segments.begin(), toc_.segments.end(), range.offset,
        [](std::uint64_t offset, const container::Segment& segment) { return offset < segment.offset; });
    const auto segment = static_cast<std::uint32_t>(next - toc_.segments.begin() - 1);
    const container::LeafRange leaves =
        container::leaves_touched({range.offset - toc_.segments[segment].offset, range.size});
    if (fresh->all_good(segment, leaves)) continue;
    unknown.push_back({segment, leaves});
    bytes += range.size;
  }
  if (unknown.empty()) return Done{};
  observe::Span span(ProfileEventKind::kVerify, name_);
  span.about(record);
  FATCTX_TRY(check_leaves(record, std::move(unknown), *fresh));
  span.succeeded(bytes);
  return Done{};
}

Status MappedContainer::verify_record(const RecordInfo& record) const {
  const std::size_t index = toc_.index_of(record);
  // One state for the whole check: a renewal in between is seen at the next acquire. The const of the pointer guards
  // the state's place in the chain, not its bits.
  auto* fresh = const_cast<Freshness*>(freshness_.load(std::memory_order_acquire));
  std::vector<container::SegmentLeaves> unknown;
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < record.slice_count; ++i) {
    const container::Slice& slice = toc_.slices[toc_.forms[index].first_slice + i];
    const container::LeafRange range = container::leaves_touched(slice.range);
    if (fresh->all_good(slice.segment, range)) continue;
    unknown.push_back({slice.segment, range});
    bytes += slice.range.size;
  }
  const bool zeros_unknown =
      record.slice_count > 1 &&
      attachments_.at(index, toc_.records.size()).zero_behind.load(std::memory_order_relaxed) != fresh;
  if (unknown.empty() && !zeros_unknown) return Done{};
  observe::Span span(ProfileEventKind::kVerify, name_);
  span.about(record);
  const auto damaged = [&](Error error) {
    attachments_.at(index, toc_.records.size()).damaged.store(fresh, std::memory_order_relaxed);
    return error;
  };
  FATCTX_TRY(check_leaves(record, std::move(unknown), *fresh));
  if (zeros_unknown) {
    const ByteRange behind = container::behind_last_granule(toc_, record, header_.granule_log2);
    // Up to 64 KiB. What the end of the container cuts off is never mapped (stitch_obstacle).
    std::vector<std::byte> rest(within(behind, header_.committed_end) ? static_cast<std::size_t>(behind.size) : 0);
    FATCTX_TRY(file_->read_at(behind.offset, rest));
    if (!container::all_zero(rest)) {
      return damaged({ErrorCode::kMalformed,
                      fmt::format("its last granule is not filled with zeros behind byte {:#x} of the file; run "
                                  "`fatctx verify` and fetch the file again",
                                  behind.offset),
                      {.file_offset = behind.offset, .rule = "F35"}});
    }
    attachments_.at(index, toc_.records.size()).zero_behind.store(fresh, std::memory_order_relaxed);
  }
  span.succeeded(bytes);
  return Done{};
}

Result<const Freshness*> MappedContainer::verify_composed(const RecordInfo& record,
                                                          std::span<const mapping::MixedPiece> pieces,
                                                          const BuiltBytes& built, const Freshness* known) const {
  auto* fresh = const_cast<Freshness*>(freshness_.load(std::memory_order_acquire));  // as in verify_record()
  if (fresh == known) return known;
  observe::Span span(ProfileEventKind::kVerify, name_);
  span.about(record);
  Attachments::OfRecord& counted = attachments_.at(toc_.index_of(record), toc_.records.size());
  const auto damaged = [&](Error error) {
    if (error.code == ErrorCode::kChecksumMismatch) counted.damaged.store(fresh, std::memory_order_relaxed);
    return error;
  };
  container::CheckedBytes checked(*file_, toc_);
  container::RecordHasher hasher(toc_);
  std::vector<container::SegmentLeaves> good;
  std::uint64_t at = 0;
  for (const mapping::MixedPiece& piece : pieces) {
    if (piece.built) hasher.update(built(at, piece));
    at += piece.size;
    // A run of the file may go on in the next segment.
    for (ByteRange left = piece.built ? ByteRange{} : ByteRange{piece.offset, piece.size}; left.size != 0;) {
      const auto next = std::upper_bound(
          toc_.segments.begin(), toc_.segments.end(), left.offset,
          [](std::uint64_t offset, const container::Segment& segment) { return offset < segment.offset; });
      const container::Segment& segment = *(next - 1);
      const std::uint64_t size = std::min(left.size, segment.offset + segment.size - left.offset);
      auto read = checked.read({left.offset, size}, [&](ByteView bytes) -> Status {
        hasher.update(bytes);
        return StepWatch::step(bytes.size());
      });
      if (!read.ok()) return damaged(std::move(read).error());
      good.push_back({static_cast<std::uint32_t>(&segment - toc_.segments.data()),
                      container::leaves_touched({left.offset - segment.offset, size})});
      left = {left.offset + size, left.size - size};
    }
  }
  if (!hasher.matches(record)) {
    return damaged({ErrorCode::kChecksumMismatch,
                    "its composed bytes do not have its hash; run `fatctx verify` and fetch the file again",
                    {.rule = "F37"}});
  }
  for (const container::SegmentLeaves& run : good) {
    for (std::uint64_t leaf = run.range.first; leaf < run.range.end; ++leaf) {
      fresh->mark_good(run.segment, leaf, toc_.segments[run.segment].leaf_count());
    }
  }
  counted.composed.store(fresh, std::memory_order_relaxed);
  span.succeeded(record.size_bytes);
  return fresh;
}

RecordState MappedContainer::verification_of(const RecordInfo& record) const {
  const std::size_t index = toc_.index_of(record);
  const container::RecordForm& form = toc_.forms[index];
  if (!container::check_supported(record, form).ok()) return RecordState::kUnknown;
  if (record.slice_count == 0) return RecordState::kOk;  // there is nothing that could be damaged
  const Freshness* fresh = freshness_.load(std::memory_order_acquire);
  const Attachments::OfRecord* counted = attachments_.all();
  if (counted != nullptr && counted[index].composed.load(std::memory_order_relaxed) == fresh) return RecordState::kOk;
  // Slices of a recipe are what it may copy from, which says nothing of what it makes.
  bool good =
      !record.recipe && (record.slice_count == 1 ||
                         (counted != nullptr && counted[index].zero_behind.load(std::memory_order_relaxed) == fresh));
  for (std::uint32_t i = 0; good && i < record.slice_count; ++i) {
    const container::Slice& slice = toc_.slices[form.first_slice + i];
    good = fresh->all_good(slice.segment, container::leaves_touched(slice.range));
  }
  if (good) return RecordState::kOk;
  const bool damaged = counted != nullptr && counted[index].damaged.load(std::memory_order_relaxed) == fresh;
  return damaged ? RecordState::kBad : RecordState::kUnknown;
}

const RecordInfo* MappedContainer::find(std::string_view name) const {
  const std::vector<RecordInfo>& records = toc_.records;
  const std::vector<std::uint32_t>* order = by_name_.load(std::memory_order_acquire);
  if (order == nullptr) {
    auto fresh = std::make_unique<std::vector<std::uint32_t>>(records.size());
    std::iota(fresh->begin(), fresh->end(), 0U);
    // The names region is sorted, so that the order of addresses is the order of names, and cheaper to find.
    std::sort(fresh->begin(), fresh->end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(records[a].name.data(), a) < std::pair(records[b].name.data(), b);
    });
    if (by_name_.compare_exchange_strong(order, fresh.get(), std::memory_order_acq_rel)) order = fresh.release();
  }
  const auto found =
      std::lower_bound(order->begin(), order->end(), name,
                       [&](std::uint32_t index, std::string_view text) { return records[index].name < text; });
  return found != order->end() && records[*found].name == name ? &records[*found] : nullptr;
}

Result<const container::ParsedTensorTable*> MappedContainer::tensor_table(const RecordInfo& record,
                                                                          std::uint64_t blob_size) const {
  std::atomic<const container::ParsedTensorTable*>& slot = tensor_tables_[toc_.index_of(record)];
  const container::ParsedTensorTable* table = slot.load(std::memory_order_acquire);
  if (table != nullptr) return table;
  FATCTX_ASSIGN(const std::vector<std::byte> bytes, container::read_metadata_record(*file_, toc_, record));
  auto parsed = container::parse_tensor_table(bytes, blob_size);
  if (!parsed.ok()) {
    Error error = container::in_record(std::move(parsed).error(), record);
    if (error.where.file_offset) {
      error.where.file_offset = container::place_in_file(toc_, record, *error.where.file_offset);
    }
    return error;
  }
  auto fresh = std::make_unique<const container::ParsedTensorTable>(std::move(parsed).value());
  if (slot.compare_exchange_strong(table, fresh.get(), std::memory_order_acq_rel)) return fresh.release();
  return table;  // another thread was first; ours is dropped
}

}  // namespace fatctx
