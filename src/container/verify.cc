#include "container/verify.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "container/copy_out.h"
#include "container/hash.h"
#include "container/leaves.h"
#include "container/metadata_codec.h"
#include "container/open.h"
#include "container/pieces.h"
#include "container/recipe_record.h"
#include "container/record_stream.h"
#include "container/tensor_table.h"

namespace fatctx::container {
namespace {

constexpr std::uint64_t kZeroUnit = std::uint64_t{1} << 20;

// Neighbouring damaged leaves make one finding.
class Findings {
 public:
  explicit Findings(VerifyReport& report) : report_(report) {}
  ~Findings() { flush(); }
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;

  void add(Error error) {
    flush();
    report_.findings.push_back({std::move(error)});
  }
  void damaged(ByteRange range, const std::string& what, std::optional<std::uint32_t> record_id) {
    if (pending_ && pending_->what == what && pending_->range.offset + pending_->range.size == range.offset) {
      pending_->range.size += range.size;
      return;
    }
    flush();
    pending_ = Pending{range, what, record_id};
  }
  void flush() {
    if (!pending_) return;
    report_.findings.push_back(
        {Error{ErrorCode::kChecksumMismatch,
               fmt::format("{}: bytes {:#x} to {:#x} of the file are damaged", pending_->what, pending_->range.offset,
                           pending_->range.offset + pending_->range.size),
               {.file_offset = pending_->range.offset, .record_id = pending_->record_id, .rule = "F26"}}});
    pending_.reset();
  }

 private:
  struct Pending {
    ByteRange range;
    std::string what;
    std::optional<std::uint32_t> record_id;
  };
  VerifyReport& report_;
  std::optional<Pending> pending_;
};

class Verifier {
 public:
  Verifier(const mapping::OsFile& file, const Progress& progress, VerifyReport& report)
      : file_(file), progress_(progress), report_(report), findings_(report) {}

  Status whole_file(std::uint64_t generation) {
    FATCTX_ASSIGN(const mapping::FileIdentity identity, file_.identity());
    auto opened = read_generation(file_, identity.size, generation);
    if (!opened.ok()) return finding_or_failure(std::move(opened).error());
    const OpenedToc& container = opened.value();
    for (const Segment& segment : container.toc.segments) {
      if (segment.kind != SegmentKind::kDead) total_ += segment.size;
    }
    FATCTX_TRY(check_redundancy(container));
    FATCTX_TRY(check_padding(container));
    find_whole_segments(container.toc);
    for (std::uint32_t i = 0; i < container.toc.segments.size(); ++i) FATCTX_TRY(check_segment(container.toc, i));
    FATCTX_TRY(check_records(container.header, container.toc));
    return Done{};
  }

  Status one_record(const Header& header, const Toc& toc, const RecordInfo& record) {
    const RecordForm& form = toc.forms[toc.index_of(record)];
    FATCTX_ASSIGN(const std::vector<SegmentLeaves> leaves, leaves_of(toc, record));
    total_ = record.slice_count == 1 ? record.stored_bytes : bytes_of(toc, leaves);  // slices may share leaves
    if (record.slice_count == 1 && is_whole_segment(toc, record, toc.slices[form.first_slice].segment)) {
      const RecordInfo* const one = &record;
      FATCTX_TRY(check_whole_segment(toc, toc.slices[form.first_slice].segment, std::span(&one, 1), true));
      return check_meaning(toc, record);
    }
    for (const SegmentLeaves& run : leaves) FATCTX_TRY(check_leaves(toc, run.segment, run.range, nullptr));
    FATCTX_TRY(check_record_hash(toc, record));
    const ByteRange behind = behind_last_granule(toc, record, header.granule_log2);
    if (within(behind, header.committed_end)) FATCTX_TRY(check_zero(behind));
    return check_meaning(toc, record);
  }

 private:
  // Of a recipe only those that it reads. One that cannot be read is reported by check_record_hash.
  Result<std::vector<SegmentLeaves>> leaves_of(const Toc& toc, const RecordInfo& record) {
    if (!record.recipe || !record.supported) return leaves_under(toc, record);
    auto recipe = read_recipe(file_, toc, record);
    if (recipe.ok()) return leaves_under(toc, record, recipe.value());
    if (is_failure(recipe.error().code)) return std::move(recipe).error();
    const Slice& program = toc.slices[toc.forms[toc.index_of(record)].first_slice];
    return std::vector<SegmentLeaves>{{program.segment, leaves_touched(program.range)}};
  }

  // Damage is what verify looks for; an I/O error is what keeps it from looking.
  static bool is_failure(ErrorCode code) {
    return code == ErrorCode::kIo || code == ErrorCode::kNoResource || code == ErrorCode::kInternal ||
           code == ErrorCode::kOutOfMemory;
  }
  Status finding_or_failure(Error error) {
    if (is_failure(error.code)) return error;
    findings_.add(std::move(error));
    return Done{};
  }

  void progress(std::uint64_t bytes) {
    report_.checked_bytes += bytes;
    if (progress_) progress_(std::min(report_.checked_bytes, total_), total_);
  }

  Status check_redundancy(const OpenedToc& container) {
    struct Row {
      std::uint32_t bit;
      std::string_view rule;
      std::uint64_t offset;
    };
    const Header& header = container.header;
    const Row rows[] = {
        {kDegradedPrologue0, "F2", kPrologueOffsets[0]},
        {kDegradedPrologue1, "F2", kPrologueOffsets[1]},
        {kDegradedSlotA0, "F6", kSlotOffsets[0]},
        {kDegradedSlotA0 << 1, "F6", kSlotOffsets[1]},
        {kDegradedSlotA0 << 2, "F6", kSlotOffsets[2]},
        {kDegradedSlotA0 << 3, "F6", kSlotOffsets[3]},
        {kDegradedHeaderPadding, "F35", 0},
        {kDegradedToc0, "F14", header.toc_offset[0]},
        {kDegradedToc1, "F14", header.toc_offset[1]},
    };
    std::uint32_t degraded = header.degraded;
    if ((degraded & kDegradedToc0) == 0) {  // an open reads copy 1 only when copy 0 is damaged
      std::vector<std::byte> copy(static_cast<std::size_t>(header.toc_size));
      FATCTX_TRY(file_.read_at(header.toc_offset[1], copy));
      if (!toc_hash_matches(copy, header)) degraded |= kDegradedToc1;
    }
    for (const Row& row : rows) {
      if ((degraded & row.bit) == 0) continue;
      const std::string what = degraded_texts(row.bit).front();
      findings_.add(
          Error{ErrorCode::kChecksumMismatch,
                fmt::format("{} is damaged or unreadable; the file still opens, but has lost this copy", what),
                {.file_offset = row.offset, .rule = row.rule}});
    }
    return Done{};
  }

  // Between extents, and between the small records of a packed segment. One of an earlier generation may hold records
  // that are gone.
  Status check_padding(const OpenedToc& container) {
    std::vector<ByteRange> extents;
    for (const std::uint64_t offset : container.header.toc_offset)
      extents.push_back({offset, container.header.toc_size});
    for (std::uint32_t i = 0; i < container.toc.segments.size(); ++i) {
      const Segment& segment = container.toc.segments[i];
      if (segment.kind != SegmentKind::kPacked || segment.generation != container.header.generation) {
        extents.push_back({segment.offset, segment.size});
        continue;
      }
      for (const Slice& slice : container.toc.slices) {
        if (slice.segment == i) extents.push_back({segment.offset + slice.range.offset, slice.range.size});
      }
    }
    std::sort(extents.begin(), extents.end(), [](ByteRange a, ByteRange b) { return a.offset < b.offset; });
    std::uint64_t end = kHeaderSize;
    for (const ByteRange extent : extents) {
      if (extent.offset > end) FATCTX_TRY(check_zero({end, extent.offset - end}));
      end = std::max(end, extent.offset + extent.size);
    }
    return Done{};
  }

  Status check_zero(ByteRange range) {
    std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(range.size, kZeroUnit)));
    for (std::uint64_t at = 0; at < range.size; at += buffer.size()) {
      const auto piece =
          std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), range.size - at)));
      FATCTX_TRY(file_.read_at(range.offset + at, piece));
      if (all_zero(piece)) continue;
      const auto bad = std::find_if(piece.begin(), piece.end(), [](std::byte b) { return b != std::byte{0}; });
      const std::uint64_t offset = range.offset + at + static_cast<std::uint64_t>(bad - piece.begin());
      findings_.add(Error{ErrorCode::kMalformed, "padding is not zero", {.file_offset = offset, .rule = "F35"}});
      return Done{};
    }
    return Done{};
  }

  // "record 3 "name"", or all records that have bytes in this segment.
  static std::string owners(const Toc& toc, std::uint32_t segment, std::optional<std::uint32_t>& first_id) {
    std::string text;
    for (const RecordInfo& record : toc.records) {
      const RecordForm& form = toc.forms[toc.index_of(record)];
      for (std::uint32_t i = 0; i < record.slice_count; ++i) {
        if (toc.slices[form.first_slice + i].segment != segment) continue;
        text += fmt::format("{}record {} \"{}\"", text.empty() ? "" : ", ", record.id, record.name);
        if (!first_id) first_id = record.id;
        break;
      }
    }
    return text;
  }

  // With `whole` the bytes of the segment are hashed on the way.
  Status check_leaves(const Toc& toc, std::uint32_t index, LeafRange range, Hasher* whole) {
    const Segment& segment = toc.segments[index];
    auto leaves = read_leaves(file_, toc, segment);
    if (!leaves.ok()) {
      std::optional<std::uint32_t> record_id;
      Error error = in_context(std::move(leaves).error(), owners(toc, index, record_id));
      error.where.record_id = record_id;
      return finding_or_failure(std::move(error));
    }
    const auto visit = [&](std::uint64_t leaf, ByteView bytes, bool good) -> Status {
      if (!good) {  // only now is the name looked for: it takes a walk through all records
        std::optional<std::uint32_t> record_id;
        const std::string what = owners(toc, index, record_id);
        findings_.damaged({segment.offset + (leaf << kLeafLog2), bytes.size()}, what, record_id);
      }
      if (whole != nullptr) whole->update(bytes);
      progress(bytes.size());
      return Done{};
    };
    return walk_leaves(file_, segment, leaves.value(), range, visit);
  }

  Status check_segment(const Toc& toc, std::uint32_t index) {
    const Segment& segment = toc.segments[index];
    if (segment.kind == SegmentKind::kLeaves) return check_leaves_segment(segment);
    if (segment.kind == SegmentKind::kDead) return Done{};
    const auto [first, last] = std::equal_range(whole_segments_.begin(), whole_segments_.end(), WholeSegment{index, {}},
                                                [](const auto& a, const auto& b) { return a.segment < b.segment; });
    std::vector<const RecordInfo*> records;
    for (auto at = first; at != last; ++at) records.push_back(&toc.records[at->record]);
    return check_whole_segment(toc, index, records, false);
  }

  // Leaves, and records that are this segment, no more and no less, so that they need not be read again. A check of one
  // record reports its hash beside damaged leaves; a check of the file leaves it at the leaves.
  Status check_whole_segment(const Toc& toc, std::uint32_t index, std::span<const RecordInfo* const> records,
                             bool also_after_damage) {
    Hasher whole;
    const std::size_t before = report_.findings.size();
    const std::uint64_t read_before = report_.checked_bytes;
    FATCTX_TRY(check_leaves(toc, index, {0, toc.segments[index].leaf_count()}, records.empty() ? nullptr : &whole));
    findings_.flush();
    if (records.empty() || (!also_after_damage && report_.findings.size() != before)) return Done{};
    if (report_.checked_bytes - read_before != toc.segments[index].size) {
      // The leaf hashes are damaged, so that no payload was read, which may be whole.
      for (const RecordInfo* record : records) FATCTX_TRY(check_record_hash(toc, *record));
      return Done{};
    }
    const Hash128 hash = whole.digest();
    for (const RecordInfo* record : records) {
      if (hash != record->hash) hash_finding(*record);
    }
    return Done{};
  }

  void find_whole_segments(const Toc& toc) {
    for (std::size_t i = 0; i < toc.records.size(); ++i) {
      if (toc.records[i].slice_count != 1) continue;
      const std::uint32_t segment = toc.slices[toc.forms[i].first_slice].segment;
      if (is_whole_segment(toc, toc.records[i], segment)) whole_segments_.push_back({segment, i});
    }
    std::sort(whole_segments_.begin(), whole_segments_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.segment, a.record) < std::pair(b.segment, b.record);
    });
  }

  static bool is_whole_segment(const Toc& toc, const RecordInfo& record, std::uint32_t index) {
    if (!record.supported || record.recipe || record.codec != Codec::kNone || record.slice_count != 1) return false;
    const Slice& slice = toc.slices[toc.forms[toc.index_of(record)].first_slice];
    return slice.segment == index && slice.range == ByteRange{0, toc.segments[index].size};
  }

  Status check_leaves_segment(const Segment& segment) {
    Hasher hasher;
    std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(segment.size, kZeroUnit)));
    for (std::uint64_t at = 0; at < segment.size; at += buffer.size()) {
      const auto piece =
          std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), segment.size - at)));
      FATCTX_TRY(file_.read_at(segment.offset + at, piece));
      hasher.update(piece);
    }
    progress(segment.size);
    if (hasher.digest() != segment.leaves_hash) {
      findings_.add(Error{ErrorCode::kChecksumMismatch,
                          "the segment of leaf hashes is damaged",
                          {.file_offset = segment.offset, .rule = "F26"}});
    }
    return Done{};
  }

  Status check_records(const Header& header, const Toc& toc) {
    for (const RecordInfo& record : toc.records) {
      if (!record.supported) continue;
      const bool done = record.slice_count == 1 &&
                        is_whole_segment(toc, record, toc.slices[toc.forms[toc.index_of(record)].first_slice].segment);
      if (!done) FATCTX_TRY(check_record_hash(toc, record));
      FATCTX_TRY(check_last_granule(header, toc, record));
      FATCTX_TRY(check_meaning(toc, record));
    }
    return Done{};
  }

  void hash_finding(const RecordInfo& record) {
    findings_.add(in_record(Error{ErrorCode::kChecksumMismatch,
                                  "its bytes do not match its hash",
                                  {.file_offset = record.file_offset, .rule = "F37"}},
                            record));
  }

  Status check_record_hash(const Toc& toc, const RecordInfo& record) {
    if (!record.supported) return Done{};
    if (record.codec != Codec::kNone || record.recipe) return check_made(toc, record);
    Hasher hasher;
    std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(record.size_bytes, kZeroUnit)));
    for (const Piece& piece : pieces_of(toc, record)) {
      for (std::uint64_t at = 0; at < piece.in_file.size; at += buffer.size()) {
        const auto part = std::span(buffer).first(
            static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), piece.in_file.size - at)));
        FATCTX_TRY(file_.read_at(piece.in_file.offset + at, part));
        hasher.update(part);
      }
    }
    if (hasher.digest() != record.hash) hash_finding(record);
    return Done{};
  }

  // What a compressed record or a recipe yields. Damaged leaves have been found already, and are not used.
  Status check_made(const Toc& toc, const RecordInfo& record) {
    auto status = stream_logical(file_, toc, record, [](ByteView) -> Status { return Done{}; });
    if (status.ok()) return Done{};
    Error error = std::move(status).error();
    if (error.code == ErrorCode::kChecksumMismatch && error.where.rule != "F37") return Done{};
    return finding_or_failure(in_record(std::move(error), record));
  }

  // Descriptions and tensor tables, which an open does not look into.
  Status check_meaning(const Toc& toc, const RecordInfo& record) {
    if (!record.supported) return Done{};
    if (record.type != RecordType::kDescription && record.type != RecordType::kTensorTable) return Done{};
    auto bytes = read_metadata_record(file_, toc, record);
    if (!bytes.ok()) {
      const ErrorCode code = bytes.error().code;
      if (code == ErrorCode::kChecksumMismatch || code == ErrorCode::kCodec) return Done{};  // found already
      if (record.recipe) return Done{};  // whatever is wrong with it has been found as well
      return finding_or_failure(std::move(bytes).error());
    }
    Status meaning = record.type == RecordType::kDescription ? check_description(toc, bytes.value())
                                                             : check_tensor_table(toc, record, bytes.value());
    if (meaning.ok()) return Done{};
    Error error = in_record(std::move(meaning).error(), record);
    error.where.file_offset = place_in_file(toc, record, error.where.file_offset.value_or(0));
    return finding_or_failure(std::move(error));
  }

  // In a check of the file: what lies behind a segment, and between the slices of a packed one, is looked at already.
  Status check_last_granule(const Header& header, const Toc& toc, const RecordInfo& record) {
    if (record.slice_count < 2 || record.recipe) return Done{};
    const Segment& segment =
        toc.segments[toc.slices[toc.forms[toc.index_of(record)].first_slice + record.slice_count - 1].segment];
    if (segment.kind == SegmentKind::kPacked) return Done{};
    ByteRange behind = behind_last_granule(toc, record, header.granule_log2);
    behind.size = std::min(behind.size, segment.offset + segment.size - behind.offset);
    if (behind.size == 0 || !last_granules_.insert(behind.offset).second) return Done{};  // records may share it
    return check_zero(behind);
  }

  static std::uint64_t bytes_of(const Toc& toc, std::span<const SegmentLeaves> leaves) {
    std::uint64_t bytes = 0;
    for (const SegmentLeaves& run : leaves) {
      bytes += std::min(run.range.end << kLeafLog2, toc.segments[run.segment].size) - (run.range.first << kLeafLog2);
    }
    return bytes;
  }

  static Status check_description(const Toc& toc, ByteView bytes) {
    FATCTX_ASSIGN(const ContainerDescription description, decode_description(bytes));
    for (const RecordDescription& record : description.records) {
      if (toc.find(record.record_id) != nullptr) continue;
      return Error{ErrorCode::kMalformed,
                   fmt::format("it describes record {}, which is not there", record.record_id),
                   {.rule = "F37"}};
    }
    return Done{};
  }

  static Status check_tensor_table(const Toc& toc, const RecordInfo& record, ByteView bytes) {
    const auto reference = std::find_if(toc.references.begin(), toc.references.end(),
                                        [&](const Reference& r) { return r.from_record == record.id; });
    FATCTX_TRY(parse_tensor_table(bytes, toc.find(reference->to_record)->size_bytes));  // F27: it is there
    return Done{};
  }

  const mapping::OsFile& file_;
  const Progress& progress_;
  VerifyReport& report_;
  Findings findings_;
  std::uint64_t total_ = 0;
  std::set<std::uint64_t> last_granules_;  // by the byte behind the record
  struct WholeSegment {
    std::uint32_t segment = 0;
    std::size_t record = 0;  // index
  };
  std::vector<WholeSegment> whole_segments_;  // records that are a segment, no more and no less; by segment
};

}  // namespace

Result<VerifyReport> verify_container(const mapping::OsFile& file, const Progress& progress, std::uint64_t generation) {
  VerifyReport report;
  {
    Verifier verifier(file, progress, report);
    FATCTX_TRY(verifier.whole_file(generation));
  }
  return report;
}

Result<VerifyReport> verify_record(const mapping::OsFile& file, const Header& header, const Toc& toc,
                                   const RecordInfo& record, const Progress& progress) {
  VerifyReport report;
  {
    Verifier verifier(file, progress, report);
    FATCTX_TRY(verifier.one_record(header, toc, record));
  }
  return report;
}

}  // namespace fatctx::container
