#include "fatctx/sharing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "container/read/checked_bytes.h"
#include "container/read/open.h"
#include "container/read/pieces.h"
#include "container/read/recipe_record.h"
#include "container/sharing/content_scan.h"
#include "container/sharing/distinct_bytes.h"
#include "container/sharing/layout_groups.h"
#include "container/sharing/record_bytes.h"
#include "container/sharing/stored_overlap.h"
#include "mapping/page_range.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "runtime/view/compose_plan.h"

namespace fatctx {
namespace {

namespace sharing = container::sharing;

// Limits the work: a record may repeat bytes, so a small file could demand more work and memory than its size suggests.
constexpr std::uint64_t kMaxExpansion = 64;
constexpr std::uint64_t kAlwaysScanned = std::uint64_t{64} << 20;

// The logical bytes of an uncompressed record, read from the file directly.
class StoredRecord final : public sharing::RecordBytes {
 public:
  StoredRecord(const MappedContainer& mapped, const RecordInfo& record)
      : mapped_(mapped), size_(record.size_bytes), pieces_(container::pieces_of(mapped.toc(), record)) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    auto piece = std::upper_bound(
        pieces_.begin(), pieces_.end(), offset,
        [](std::uint64_t at, const container::Piece& candidate) { return at < candidate.offset_in_record; });
    if (buffer.empty()) return Done{};
    --piece;  // the first piece starts at 0
    while (!buffer.empty()) {
      const std::uint64_t skipped = offset - piece->offset_in_record;
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), piece->in_file.size - skipped));
      FATCTX_TRY(mapped_.file().read_at(piece->in_file.offset + skipped, buffer.first(part)));
      offset += part;
      buffer = buffer.subspan(part);
      ++piece;
    }
    return Done{};
  }
  void close() const noexcept override {}

 private:
  const MappedContainer& mapped_;
  std::uint64_t size_;
  std::vector<container::Piece> pieces_;
};

// The logical bytes of a recipe, built on demand.
class MadeRecord final : public sharing::RecordBytes {
 public:
  MadeRecord(const MappedContainer& mapped, const container::Recipe& recipe, const container::WorkBudget& budget)
      : recipe_(recipe), file_(mapped.file(), mapped.toc(), budget) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return recipe_.logical_size(); }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    const auto read = [this](std::uint64_t at, std::span<std::byte> out) { return file_.read_into(at, out); };
    return recipe_.apply({offset, buffer.size()}, read, buffer);
  }
  void close() const noexcept override {}

 private:
  const container::Recipe& recipe_;
  mutable container::CheckedBytes file_;  // caches the last bytes read
};

// Equal content in the same form is stored once, so one record represents all equal ones.
using StoredContent = std::tuple<Hash128, std::uint64_t, Codec>;
StoredContent stored_content_of(const RecordInfo& record) { return {record.hash, record.size_bytes, record.codec}; }

// Returns the number of bytes of a record that is stored without sharing.
std::uint64_t whole_bytes(const RecordInfo& record) {
  return record.codec == Codec::kNone && record.supported ? record.size_bytes : record.stored_bytes;
}

class Measurement {
 public:
  Measurement(const MappedContainer& mapped, std::uint64_t max_made_bytes)
      : mapped_(mapped), toc_(mapped.toc()), budget_(toc_, max_made_bytes) {}

  Result<SharingReport> run(const Progress& progress) {
    FATCTX_TRY(mapped_.recheck());
    report_.records = sharing::stored_overlap(toc_);
    find_different();
    FATCTX_TRY(check_size());
    FATCTX_TRY(scan(progress));
    add_layout_groups();
    add_totals();
    add_targets();
    return std::move(report_);
  }

 private:
  [[nodiscard]] bool may_share_pages(std::size_t index) const {
    const RecordInfo& record = toc_.records[index];
    if (!record.supported || record.codec != Codec::kNone || record.size_bytes == 0) return false;
    if (record.recipe) return true;
    for (std::uint32_t i = 0; i < record.slice_count; ++i) {
      const container::Slice& slice = toc_.slices[toc_.forms[index].first_slice + i];
      if (toc_.segments[slice.segment].kind != container::SegmentKind::kPayload) return false;
    }
    return true;
  }

  void find_different() {
    std::map<StoredContent, std::size_t> place;
    for (std::size_t i = 0; i < toc_.records.size(); ++i) {
      report_.totals.input_bytes += whole_bytes(toc_.records[i]);
      const auto [found, first] = place.emplace(stored_content_of(toc_.records[i]), equal_.size());
      if (first) equal_.emplace_back();
      equal_[found->second].push_back(i);
    }
    for (std::size_t i = 0; i < equal_.size(); ++i) {
      const std::uint64_t size = whole_bytes(toc_.records[equal_[i].front()]);
      report_.totals.off_bytes += size;
      if (may_share_pages(equal_[i].front())) {
        scanned_.push_back(i);
        scanned_bytes_ += size;
      } else {
        other_bytes_ += size;
      }
    }
  }

  // No sum here overflows: a file of one slice per record has at most 2^47 bytes, and there are at most 4,096 records.
  [[nodiscard]] Status check_size() const {
    const std::uint64_t file = mapped_.header().committed_end;
    if (scanned_bytes_ <= kAlwaysScanned || scanned_bytes_ / kMaxExpansion <= file) return Done{};
    return Error{
        ErrorCode::kLimitExceeded,
        fmt::format("{}: different records of {} bytes in a file of {} bytes; sharing is measured up to {} times "
                    "the size of the file",
                    mapped_.name(), scanned_bytes_, file, kMaxExpansion)};
  }

  Status scan(const Progress& progress) {
    std::uint64_t done = 0;
    for (const std::size_t content : scanned_) {
      const RecordInfo& record = toc_.records[equal_[content].front()];
      auto verified = mapped_.verify_record(record, budget_.max_made_bytes());
      if (!verified.ok()) return in_context(container::in_record(std::move(verified).error(), record), mapped_.name());
      auto found = record.recipe ? scan_recipe(content) : scan_bytes(StoredRecord(mapped_, record));
      if (!found.ok()) return in_context(container::in_record(std::move(found).error(), record), mapped_.name());
      scans_.push_back(std::move(found).value());
      done += record.size_bytes;
      if (progress) progress(done, scanned_bytes_);
    }
    for (std::size_t i = 0; i < scanned_.size(); ++i) {
      inputs_.push_back({toc_.records[equal_[scanned_[i]].front()].size_bytes, &scans_[i]});
    }
    return Done{};
  }

  [[nodiscard]] static Result<sharing::ContentScan> scan_bytes(const sharing::RecordBytes& bytes) {
    return sharing::scan_content(bytes, sharing::kSmallestPageLog2, sharing::granule_hash);
  }

  // Scans a recipe, and also reports how many bytes a view of it would build on this machine.
  Result<sharing::ContentScan> scan_recipe(std::size_t content) {
    const RecordInfo& record = toc_.records[equal_[content].front()];
    FATCTX_ASSIGN(const container::Recipe recipe, container::read_recipe(mapped_.file(), toc_, record, budget_));
    constexpr std::uint64_t kMostPieces = 4096;
    const ComposePlan plan = plan_composition(
        recipe,
        {.page_bytes = mapping::map_granule_bytes(), .base = mapped_.file().base(), .most_pieces = kMostPieces});
    for (const std::size_t index : equal_[content]) report_.records[index].composed_bytes = plan.built_bytes;
    return scan_bytes(MadeRecord(mapped_, recipe, budget_));
  }

  void add_layout_groups() {
    for (const sharing::LayoutGroup& group : sharing::layout_groups(inputs_).groups) {
      SharingLayoutGroup& added = report_.layout_groups.emplace_back();
      std::vector<std::size_t> indexes;
      std::vector<const sharing::ContentScan*> scans;
      for (const std::size_t member : group.members) {
        scans.push_back(&scans_[member]);
        for (const std::size_t index : equal_[scanned_[member]]) {
          indexes.push_back(index);
          added.records.push_back(toc_.records[index].id);
          added.size_bytes += toc_.records[index].size_bytes;
          report_.records[index].layout_group = static_cast<std::uint32_t>(report_.layout_groups.size() - 1);
        }
      }
      added.stored_bytes = sharing::stored_under(toc_, indexes);
      added.distinct_bytes = sharing::distinct_chunk_bytes(scans);
    }
  }

  void add_totals() {
    std::vector<std::size_t> all(toc_.records.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    report_.totals.stored_bytes = sharing::stored_under(toc_, all);
    unsigned page_log2 = sharing::kSmallestPageLog2;
    for (PageTotal& total : report_.totals.pages) {
      total.page_bytes = std::uint32_t{1} << page_log2;
      total.bytes = other_bytes_ + sharing::distinct_page_bytes(inputs_, page_log2);
      page_log2 += 2;
    }
    std::vector<const sharing::ContentScan*> scans;
    for (const sharing::ContentScan& found : scans_) scans.push_back(&found);
    report_.totals.bytes_at_most = other_bytes_ + sharing::distinct_chunk_bytes(scans);
  }

  void add_targets() {
    std::map<std::string, std::size_t> place;
    for (const RecordInfo& record : toc_.records) {
      if (record.type != RecordType::kContextBinary) continue;
      const std::string target = target_text(record.key);
      const auto [found, first] = place.emplace(target, report_.targets.size());
      if (first) report_.targets.emplace_back().target = target;
      std::vector<std::uint32_t>& records = report_.targets[found->second].records;
      records.push_back(record.id);
      for (const std::uint32_t weights : record.weights) {
        records.push_back(weights);
        for (const container::Reference& reference : toc_.references) {
          const bool table = reference.kind == container::ReferenceKind::kTensorTable;
          if (table && reference.to_record == weights) records.push_back(reference.from_record);
        }
      }
    }
    for (TargetSharing& target : report_.targets) {
      std::sort(target.records.begin(), target.records.end());
      target.records.erase(std::unique(target.records.begin(), target.records.end()), target.records.end());
      std::map<StoredContent, std::uint64_t> different;
      for (const std::uint32_t id : target.records) {
        const RecordInfo& record = *toc_.find(id);
        different.emplace(stored_content_of(record), whole_bytes(record));
      }
      for (const auto& [content, bytes] : different) target.alone_bytes += bytes;
    }
  }

  const MappedContainer& mapped_;
  const container::Toc& toc_;
  const container::WorkBudget budget_;
  SharingReport report_;
  std::vector<std::vector<std::size_t>> equal_;  // indexes of records, by content
  std::vector<std::size_t> scanned_;             // indexes into equal_: contents that could share pages
  std::vector<sharing::ContentScan> scans_;      // one for each of scanned_
  std::vector<sharing::GroupInput> inputs_;      // one for each of scanned_
  std::uint64_t scanned_bytes_ = 0;
  std::uint64_t other_bytes_ = 0;  // stored as they are, independent of sharing
};

}  // namespace

Result<SharingReport> measure_sharing(const Container& container, const Progress& progress) {
  FATCTX_TRY(mapped_of(container)->need_all());
  return Measurement(*mapped_of(container), options_of(container).max_made_bytes).run(progress);
}

}  // namespace fatctx
