#include "container/check/verify.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "container/check/leaf_parts.h"
#include "container/check/padding.h"
#include "container/check/segment_check.h"
#include "container/format/copy_out.h"
#include "container/format/crypto.h"
#include "container/format/hash.h"
#include "container/format/metadata_codec.h"
#include "container/read/leaves.h"
#include "container/read/open.h"
#include "container/read/pieces.h"
#include "container/read/recipe_record.h"
#include "container/read/record_hasher.h"
#include "container/read/record_stream.h"
#include "container/read/stored_rows.h"
#include "container/read/tensor_table.h"
#include "container/read/work_budget.h"
#include "container/sharing/parallel.h"
#include "container/sharing/work_progress.h"

namespace fatctx::container {
namespace {

constexpr unsigned kLeastShares = 8;  // memory for programs and tables is divided by at least this
constexpr std::uint64_t kBytesPerThread = std::uint64_t{8} << 20;  // below that a thread costs more than it gains

// A collector of findings; adjacent damaged leaves make one finding.
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
  void leaves(ByteRange range, bool absent, const std::string& what, std::optional<std::uint32_t> record_id) {
    if (absent) report_.absent_bytes += range.size;
    if (pending_ && pending_->what == what && pending_->absent == absent &&
        pending_->range.offset + pending_->range.size == range.offset) {
      pending_->range.size += range.size;
      return;
    }
    flush();
    pending_ = Pending{range, absent, what, record_id};
  }
  void flush() {
    if (!pending_) return;
    Error error = in_context(leaf_error(pending_->range, pending_->absent), pending_->what);
    error.where.record_id = pending_->record_id;
    report_.findings.push_back({std::move(error)});
    pending_.reset();
  }

 private:
  struct Pending {
    ByteRange range;
    bool absent = false;
    std::string what;
    std::optional<std::uint32_t> record_id;
  };
  VerifyReport& report_;
  std::optional<Pending> pending_;
};

class Verifier {
 public:
  Verifier(const mapping::OsFile& file, const VerifyOptions& options, std::uint64_t max_made_bytes,
           VerifyReport& report)
      : file_(file),
        options_(options),
        max_made_bytes_(max_made_bytes),
        report_(report),
        findings_(report),
        progress_(options.progress) {}
  ~Verifier() { report_.checked_bytes = progress_.done_bytes(); }
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  Status whole_file(std::uint64_t generation, const Trust& trust) {
    if (options_.strict && options_.range) {
      return invalid_argument("strict looks at the whole file: leave out either that or the range");
    }
    FATCTX_ASSIGN(mapping::FileIdentity identity, file_.identity());
    auto opened = read_growing(file_, identity, generation, trust);
    if (!opened.ok() && refused(opened.error().code)) {  // the rest of the file may be intact
      findings_.add(std::move(opened).error());
      opened = read_generation(file_, identity.size, generation);
    }
    if (!opened.ok() && opened.error().code == ErrorCode::kNotFound) return std::move(opened).error();
    if (!opened.ok()) return finding_or_failure(std::move(opened).error());
    const OpenedToc& container = opened.value();
    allow_work(container.toc);
    take_signature(container.header, container.toc);
    if (options_.range) return range_of_file(container, *options_.range);
    for (const Segment& segment : container.toc.segments) {
      if (segment.kind != SegmentKind::kDead) total_ += segment.size;
    }
    expect_total();
    FATCTX_TRY(check_redundancy(container));
    if (options_.strict) FATCTX_TRY(check_delivery(container));
    FATCTX_TRY(check_padding(container));
    find_whole_segments(container.toc);
    FATCTX_TRY(check_all_segments(container.toc));
    return check_records(container.header, container.toc);
  }

  Status one_record(const Header& header, const Toc& toc, const RecordInfo& record) {
    if (options_.strict) return invalid_argument("strict looks at the whole file: leave out either that or the record");
    allow_work(toc);
    take_signature(header, toc);
    if (options_.range) return range_of_record(toc, record, *options_.range);
    one_part_ = true;
    const RecordForm& form = toc.forms[toc.index_of(record)];
    FATCTX_ASSIGN(const std::vector<SegmentLeaves> leaves, leaves_of(toc, record, {0, record.size_bytes}));
    total_ = record.slice_count == 1 ? record.stored_bytes : bytes_of(toc, leaves);  // slices may share leaves
    expect_total();
    if (record.slice_count == 1 && is_whole_segment(toc, record, toc.slices[form.first_slice].segment)) {
      const std::uint32_t segment = toc.slices[form.first_slice].segment;
      const SegmentWork work{segment, {0, toc.segments[segment].leaf_count()}, true};
      FATCTX_ASSIGN(const std::vector<SegmentOutcome> outcomes,
                    check_segments(file_, toc, std::span(&work, 1), leaf_hash_, threads_, progress_));
      const RecordInfo* const one = &record;
      FATCTX_TRY(judge_segment(toc, segment, outcomes.front(), std::span(&one, 1), true));
      return check_meaning(toc, record);
    }
    FATCTX_TRY(check_leaves(toc, leaves));
    FATCTX_TRY(check_record_hash(toc, record));
    const ByteRange behind = behind_last_granule(toc, record, header.granule_log2);
    if (within(behind, header.committed_end)) FATCTX_TRY(check_zero(behind));
    return check_meaning(toc, record);
  }

 private:
  static bool refused(ErrorCode code) {
    return code == ErrorCode::kSignatureMissing || code == ErrorCode::kSignatureBad || code == ErrorCode::kRollback;
  }
  void take_signature(const Header& header, const Toc& toc) {
    if (!header.signature) return;
    leaf_hash_ = LeafHash::kBoth;
    report_.key_id = to_hex(header.signature->key_id);
    report_.signature_verified = toc.authenticated;
  }

  void allow_work(const Toc& toc) { budget_.emplace(toc, max_made_bytes_); }

  // Returns the leaves to check; of a recipe, only those that it reads. check_record_hash reports a recipe that cannot
  // be read.
  Result<std::vector<SegmentLeaves>> leaves_of(const Toc& toc, const RecordInfo& record, ByteRange part) {
    if (!record.supported) return leaves_under(toc, record);
    if (!record.recipe)
      return record.codec == Codec::kNone ? leaves_under(toc, record, part) : leaves_under(toc, record);
    auto recipe = read_recipe(file_, toc, record, *budget_);
    if (recipe.ok()) return leaves_under(toc, record, recipe.value(), part);
    if (is_failure(recipe.error())) return in_record(std::move(recipe).error(), record);
    const Slice& program = toc.slices[toc.forms[toc.index_of(record)].first_slice];
    return std::vector<SegmentLeaves>{{program.segment, leaves_touched(program.range)}};
  }

  // Returns whether the error prevents the check: an I/O error, for example, or the caller's own limit. Damage does
  // not.
  static bool is_failure(const Error& error) {
    const ErrorCode code = error.code;
    return code == ErrorCode::kIo || code == ErrorCode::kNoResource || code == ErrorCode::kInternal ||
           code == ErrorCode::kOutOfMemory || code == ErrorCode::kCancelled || is_over_budget(error);
  }
  static Status found_or_failure(Error error, std::vector<Error>& found) {
    if (is_failure(error)) return error;
    found.push_back(std::move(error));
    return Done{};
  }
  Status finding_or_failure(Error error) {
    if (is_failure(error)) return error;
    findings_.add(std::move(error));
    return Done{};
  }

  void add_all(std::vector<Error> found) {
    for (Error& error : found) findings_.add(std::move(error));
  }

  // Chooses the number of threads by the amount of work.
  void expect_total() {
    progress_.expect(total_);
    const std::uint64_t worth = 1 + total_ / kBytesPerThread;
    threads_ = options_.threads != 0 ? options_.threads
                                     : static_cast<unsigned>(std::min<std::uint64_t>(sharing::thread_count(0), worth));
  }

  Status on_threads(std::size_t count, const std::function<Status(std::size_t)>& work) {
    return sharing::for_each_index(threads_, count, work, [this] { (void)progress_.go_on(); });
  }

  static Status check_range(ByteRange range, std::uint64_t size, std::string_view what) {
    if (range.size == 0) return invalid_argument("a range of 0 bytes was requested");
    if (within(range, size)) return Done{};
    return invalid_argument(
        fmt::format("{} bytes from byte {:#x} leave the {}, which has {}", range.size, range.offset, what, size));
  }

  Status range_of_file(const OpenedToc& container, ByteRange range) {
    FATCTX_TRY(check_range(range, container.header.committed_end, "container"));
    std::vector<SegmentLeaves> leaves;
    for (std::uint32_t i = 0; i < container.toc.segments.size(); ++i) {
      const Segment& segment = container.toc.segments[i];
      if (!segment.holds_payload()) continue;
      const ByteRange part = overlap({segment.offset, segment.size}, range);
      if (part.size != 0) leaves.push_back({i, leaves_touched({part.offset - segment.offset, part.size})});
    }
    if (leaves.empty()) {
      return invalid_argument(
          fmt::format("no leaf covers bytes {:#x} to {:#x}: they hold no payload; other bytes are checked when "
                      "the whole file is",
                      range.offset, range.offset + range.size));
    }
    return check_part(container.toc, leaves);
  }

  Status range_of_record(const Toc& toc, const RecordInfo& record, ByteRange range) {
    FATCTX_TRY(check_range(range, record.size_bytes, fmt::format("record \"{}\"", record.name)));
    FATCTX_ASSIGN(const std::vector<SegmentLeaves> leaves, leaves_of(toc, record, range));
    return check_part(toc, leaves);
  }

  Status check_part(const Toc& toc, const std::vector<SegmentLeaves>& leaves) {
    one_part_ = true;
    total_ = bytes_of(toc, leaves);
    expect_total();
    return check_leaves(toc, leaves);
  }

  // Reports contents that a sealed file cannot have, and a delivered file should not have.
  Status check_delivery(const OpenedToc& container) {
    const Header& header = container.header;
    if (header.tail_bytes != 0) {
      findings_.add(Error{ErrorCode::kTrailingData,
                          fmt::format("{} bytes follow the committed end, of an append that did not finish; write "
                                      "the file anew with `fatctx compact`",
                                      header.tail_bytes),
                          {.file_offset = header.committed_end, .rule = "F10"}});
    }
    std::uint64_t dead = 0;
    std::optional<std::uint64_t> first;
    for (const Segment& segment : container.toc.segments) {
      if (segment.kind != SegmentKind::kDead) continue;
      dead += segment.size;
      if (!first) first = segment.offset;
    }
    if (dead != 0) {
      findings_.add(Error{ErrorCode::kMalformed,
                          fmt::format("{} bytes are used by no record any more; write the file anew with `fatctx "
                                      "compact`",
                                      dead),
                          {.file_offset = first, .rule = "F36"}});
    }
    for (const Generation& generation : container.toc.generations) {
      const std::array<std::uint64_t, 2> places = copies_of(generation);
      for (std::size_t copy = 0; copy < places.size(); ++copy) {
        FATCTX_ASSIGN(const bool good, holds_table(file_, generation, places[copy]));
        if (good) continue;
        findings_.add(Error{ErrorCode::kChecksumMismatch,
                            fmt::format("toc copy {} of generation {} is damaged", copy, generation.number),
                            {.file_offset = places[copy], .rule = "F14"}});
      }
    }
    return Done{};
  }

  Status check_redundancy(const OpenedToc& container) {
    struct Row {
      std::uint32_t bit;
      std::string_view rule;
      std::uint64_t offset;
    };
    const Header& header = container.header;
    const HeaderForm& form = header.form();
    const Row rows[] = {
        {kDegradedPrologue0, "F2", form.prologues[0]},
        {kDegradedPrologue1, "F2", form.prologues[1]},
        {kDegradedSlotA0, "F6", form.slots[0]},
        {kDegradedSlotA0 << 1, "F6", form.slots[1]},
        {kDegradedSlotA0 << 2, "F6", form.slots[2]},
        {kDegradedSlotA0 << 3, "F6", form.slots[3]},
        {kDegradedHeaderPadding, "F35", 0},
        {kDegradedToc0, "F14", header.toc_offset[0]},
        {kDegradedToc1, "F14", header.toc_offset[1]},
        {kDegradedOlderPair, "F9", form.slots[1U - header.pair]},
    };
    FATCTX_ASSIGN(const std::uint32_t degraded, degraded_copies(file_, header));
    if (header.signature && !toc_sha256_matches(container.toc.bytes, header)) {
      findings_.add(Error{ErrorCode::kChecksumMismatch,
                          "the table of contents does not match the SHA-256 in its slot",
                          {.file_offset = form.slots[header.pair], .rule = "F13"}});
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

  // Checks the gaps between extents, and between the small records of a packed segment. A packed segment of an earlier
  // generation is skipped, because it may hold records that no longer exist.
  Status check_padding(const OpenedToc& container) {
    const std::vector<ByteRange> gaps = padding_behind_header(container, PaddingOf::kFileAndSegments);
    std::vector<std::optional<ByteRange>> bad(gaps.size());
    FATCTX_TRY(on_threads(gaps.size(), [&](std::size_t i) -> Status {
      FATCTX_ASSIGN(bad[i], first_not_zero(file_, gaps[i]));
      return progress_.go_on();
    }));
    for (const std::optional<ByteRange>& range : bad) padding_finding(range);
    return Done{};
  }

  void padding_finding(const std::optional<ByteRange>& range) {
    if (!range) return;
    findings_.add(Error{ErrorCode::kMalformed, "padding is not zero", {.file_offset = range->offset, .rule = "F35"}});
  }
  Status check_zero(ByteRange range) {
    FATCTX_ASSIGN(const std::optional<ByteRange> found, first_not_zero(file_, range));
    padding_finding(found);
    return Done{};
  }

  // Returns text such as: record 3 "name". Names all records that have bytes in this segment.
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

  Status check_leaves(const Toc& toc, const std::vector<SegmentLeaves>& leaves) {
    std::vector<SegmentWork> work;
    work.reserve(leaves.size());
    for (const SegmentLeaves& run : leaves) work.push_back({run.segment, run.range, false});
    FATCTX_ASSIGN(const std::vector<SegmentOutcome> outcomes,
                  check_segments(file_, toc, work, leaf_hash_, threads_, progress_));
    for (std::size_t i = 0; i < work.size(); ++i)
      FATCTX_TRY(judge_segment(toc, work[i].segment, outcomes[i], {}, false));
    return Done{};
  }

  Status check_all_segments(const Toc& toc) {
    std::vector<SegmentWork> work;
    for (std::uint32_t i = 0; i < toc.segments.size(); ++i) {
      const Segment& segment = toc.segments[i];
      if (segment.kind == SegmentKind::kDead) continue;
      const bool payload = segment.kind != SegmentKind::kLeaves;
      work.push_back({i, {0, payload ? segment.leaf_count() : 0}, payload && !whole_records_of(toc, i).empty()});
    }
    FATCTX_ASSIGN(const std::vector<SegmentOutcome> outcomes,
                  check_segments(file_, toc, work, leaf_hash_, threads_, progress_));
    for (std::size_t i = 0; i < work.size(); ++i) {
      const std::uint32_t segment = work[i].segment;
      FATCTX_TRY(judge_segment(toc, segment, outcomes[i], whole_records_of(toc, segment), false));
    }
    return Done{};
  }

  static bool absent_leaf_hashes(const SegmentOutcome& outcome) {
    return outcome.leaves_damaged && outcome.leaves_damaged->code == ErrorCode::kNotPresent;
  }

  // Adds a finding for a LEAVES segment that does not match its own hash: by the leaf ranges in it, for parts that are
  // not present, else as a whole.
  Status judge_leaves_segment(const Toc& toc, std::uint32_t index) {
    FATCTX_ASSIGN(const std::vector<LeavesPart> parts, parts_of_leaves_segment(file_, toc, index));
    bool absent = false;
    bool damaged = false;
    for (const LeavesPart& part : parts) {
      absent = absent || part.state == PartState::kAbsent;
      damaged = damaged || part.state == PartState::kDamaged;
    }
    if (damaged || !absent) {
      findings_.add(Error{ErrorCode::kChecksumMismatch,
                          "the segment of leaf hashes is damaged",
                          {.file_offset = toc.segments[index].offset, .rule = "F26"}});
      return Done{};
    }
    for (const LeavesPart& part : parts) {
      if (part.state == PartState::kAbsent) findings_.leaves(part.in_file, true, "leaf hashes", std::nullopt);
    }
    findings_.flush();
    return Done{};
  }

  std::vector<const RecordInfo*> whole_records_of(const Toc& toc, std::uint32_t segment) const {
    const auto [first, last] =
        std::equal_range(whole_segments_.begin(), whole_segments_.end(), WholeSegment{segment, {}},
                         [](const auto& a, const auto& b) { return a.segment < b.segment; });
    std::vector<const RecordInfo*> records;
    for (auto at = first; at != last; ++at) records.push_back(&toc.records[at->record]);
    return records;
  }

  // Adds findings for one segment. `records` are exactly the whole segment, so they need not be read again. A check of
  // one record reports its hash as well as damaged leaves; a check of the file reports only the leaves.
  Status judge_segment(const Toc& toc, std::uint32_t index, const SegmentOutcome& outcome,
                       std::span<const RecordInfo* const> records, bool also_after_damage) {
    const Segment& segment = toc.segments[index];
    if (segment.kind == SegmentKind::kLeaves) {
      return outcome.hash == segment.leaves_hash ? Status(Done{}) : judge_leaves_segment(toc, index);
    }
    std::optional<std::uint32_t> record_id;
    // In a check of the whole file, absent leaf hashes are a finding about their LEAVES segment.
    if (outcome.leaves_damaged && (one_part_ || !absent_leaf_hashes(outcome))) {
      Error error = in_context(*outcome.leaves_damaged, owners(toc, index, record_id));
      error.where.record_id = record_id;
      findings_.add(std::move(error));
    }
    if (!outcome.damaged.empty() || !outcome.absent.empty()) {
      const std::string what = owners(toc, index, record_id);  // only now: that takes a walk over all records
      const auto report = [&](LeafRange leaves, bool absent) {
        const std::uint64_t first = leaves.first << kLeafLog2;
        const std::uint64_t end = std::min(leaves.end << kLeafLog2, segment.size);
        findings_.leaves({segment.offset + first, end - first}, absent, what, record_id);
      };
      for (const LeafRange leaves : outcome.damaged) report(leaves, false);
      for (const LeafRange leaves : outcome.absent) report(leaves, true);
      findings_.flush();
    }
    if (absent_leaf_hashes(outcome)) {
      absent_.push_back({index, {0, segment.leaf_count()}});
    } else {
      for (const LeafRange leaves : outcome.absent) absent_.push_back({index, leaves});
    }
    if (!outcome.absent.empty() || absent_leaf_hashes(outcome)) return Done{};  // whole hashes say no more
    const bool damaged = outcome.leaves_damaged || !outcome.damaged.empty();
    if (damaged && !also_after_damage) return Done{};
    for (const RecordInfo* record : records) {
      // If the leaf hashes are damaged, no payload was read, and it may be intact.
      if (!outcome.hash) FATCTX_TRY(check_record_hash(toc, *record));
      if (outcome.hash && !fits(toc, *record, outcome)) findings_.add(hash_finding(*record));
    }
    return Done{};
  }

  static bool fits(const Toc& toc, const RecordInfo& record, const SegmentOutcome& whole) {
    return whole.hash == record.hash &&
           (!whole.sha256 || whole.sha256 == StoredRows(toc).record_sha256(toc.index_of(record)));
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

  struct Found {
    std::vector<Error> hash;
    std::vector<Error> meaning;
  };

  Status check_records(const Header& header, const Toc& toc) {
    std::vector<Found> found(toc.records.size());
    // Work that exceeds a thread's share of the memory is done by this thread, after the others.
    std::vector<std::uint8_t> left(found.size());
    const WorkBudget share = budget_->share_of(std::max(kLeastShares, threads_));
    FATCTX_TRY(on_threads(found.size(), [&](std::size_t i) -> Status {
      auto looked = look_at_record(toc, toc.records[i], share, found[i]);
      left[i] = !looked.ok() && is_over_budget(looked.error()) ? 1 : 0;
      return left[i] != 0 ? Status(Done{}) : looked;
    }));
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (left[i] == 0) continue;
      found[i] = Found();
      FATCTX_TRY(look_at_record(toc, toc.records[i], *budget_, found[i]));
    }
    for (std::size_t i = 0; i < toc.records.size(); ++i) {
      add_all(std::move(found[i].hash));
      if (toc.records[i].supported) FATCTX_TRY(check_last_granule(header, toc, toc.records[i]));
      add_all(std::move(found[i].meaning));
    }
    return Done{};
  }

  Status look_at_record(const Toc& toc, const RecordInfo& record, const WorkBudget& budget, Found& found) {
    if (!record.supported) return Done{};
    const bool done = record.slice_count == 1 &&
                      is_whole_segment(toc, record, toc.slices[toc.forms[toc.index_of(record)].first_slice].segment);
    if (!done) FATCTX_TRY(look_at_hash(toc, record, budget, found.hash));
    return look_at_meaning(toc, record, budget, found.meaning);
  }

  static Error hash_finding(const RecordInfo& record) {
    return in_record(Error{ErrorCode::kChecksumMismatch,
                           "its bytes do not match its hash",
                           {.file_offset = record.file_offset, .rule = "F37"}},
                     record);
  }

  // Returns whether leaves of the record are not present. They have a finding then, and the hash of the record says no
  // more. Not for a recipe, which may leave out parts of its sources: making it tells.
  bool has_absent_bytes(const Toc& toc, const RecordInfo& record) const {
    if (absent_.empty() || record.recipe) return false;
    const std::vector<SegmentLeaves> leaves = leaves_under(toc, record);
    return std::any_of(leaves.begin(), leaves.end(), [&](const SegmentLeaves& run) {
      const auto at = std::partition_point(absent_.begin(), absent_.end(), [&](const SegmentLeaves& absent) {
        return absent.segment < run.segment || (absent.segment == run.segment && absent.range.end <= run.range.first);
      });
      return at != absent_.end() && at->segment == run.segment && at->range.first < run.range.end;
    });
  }

  Status check_record_hash(const Toc& toc, const RecordInfo& record) {
    std::vector<Error> found;
    FATCTX_TRY(look_at_hash(toc, record, *budget_, found));
    add_all(std::move(found));
    return Done{};
  }

  Status look_at_hash(const Toc& toc, const RecordInfo& record, const WorkBudget& budget, std::vector<Error>& found) {
    if (!record.supported || has_absent_bytes(toc, record)) return Done{};
    if (record.codec != Codec::kNone || record.recipe) return look_at_made(toc, record, budget, found);
    auto allowed = budget.make(record.size_bytes);
    if (!allowed.ok()) return in_record(std::move(allowed).error(), record);
    RecordHasher hasher(toc, leaf_hash_);
    const auto look = [&](ByteView bytes) { hasher.update(bytes); };
    for (const Piece& piece : pieces_of(toc, record)) {
      FATCTX_TRY(
          mapping::look_through(file_, piece.in_file, look, [this](std::uint64_t) { return progress_.go_on(); }));
    }
    if (!hasher.matches(record)) found.push_back(hash_finding(record));
    return Done{};
  }

  // Checks the hash of a compressed record or a recipe. Damaged leaves are findings already and are not used.
  Status look_at_made(const Toc& toc, const RecordInfo& record, const WorkBudget& budget, std::vector<Error>& found) {
    const bool both = leaf_hash_ == LeafHash::kBoth;  // streaming compares only one of the two
    RecordHasher hasher(toc, leaf_hash_);
    auto status = stream_logical(file_, toc, record, budget, [&](ByteView bytes) {
      if (both) hasher.update(bytes);
      return progress_.go_on();
    });
    if (status.ok()) {
      if (both && !hasher.matches(record)) found.push_back(hash_finding(record));
      return Done{};
    }
    Error error = std::move(status).error();
    if (error.code == ErrorCode::kChecksumMismatch && error.where.rule != "F37") return Done{};
    if (error.code == ErrorCode::kNotPresent) return Done{};
    return found_or_failure(in_record(std::move(error), record), found);
  }

  Status check_meaning(const Toc& toc, const RecordInfo& record) {
    std::vector<Error> found;
    FATCTX_TRY(look_at_meaning(toc, record, *budget_, found));
    add_all(std::move(found));
    return Done{};
  }

  // Checks descriptions and tensor tables, which an open does not parse.
  Status look_at_meaning(const Toc& toc, const RecordInfo& record, const WorkBudget& budget,
                         std::vector<Error>& found) {
    if (!record.supported || has_absent_bytes(toc, record)) return Done{};
    if (record.type != RecordType::kDescription && record.type != RecordType::kTensorTable) return Done{};
    auto read = read_metadata_record(file_, toc, record, budget);
    if (!read.ok()) {
      const ErrorCode code = read.error().code;
      if (code == ErrorCode::kChecksumMismatch || code == ErrorCode::kCodec || code == ErrorCode::kNotPresent) {
        return Done{};  // already a finding
      }
      // The damage is already a finding as well.
      if (record.recipe && !is_failure(read.error())) return Done{};
      return found_or_failure(std::move(read).error(), found);
    }
    Status meaning = record.type == RecordType::kDescription ? check_description(toc, read.value().bytes)
                                                             : check_tensor_table(toc, record, read.value().bytes);
    if (meaning.ok()) return Done{};
    Error error = in_record(std::move(meaning).error(), record);
    error.where.file_offset = place_in_file(toc, record, error.where.file_offset.value_or(0));
    return found_or_failure(std::move(error), found);
  }

  // In a check of the file, the bytes behind a segment and between the slices of a packed one were checked before.
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
                   fmt::format("it describes record {}, which does not exist", record.record_id),
                   {.rule = "F37"}};
    }
    return Done{};
  }

  static Status check_tensor_table(const Toc& toc, const RecordInfo& record, ByteView bytes) {
    const auto reference = std::lower_bound(toc.references.begin(), toc.references.end(), record.id,
                                            [](const Reference& r, std::uint32_t id) { return r.from_record < id; });
    FATCTX_TRY(parse_tensor_table(bytes, toc.find(reference->to_record)->size_bytes,
                                  toc.newer_fields,  // F27: it exists
                                  &reference->table_hash));
    return Done{};
  }

  const mapping::OsFile& file_;
  const VerifyOptions& options_;
  const std::uint64_t max_made_bytes_;
  VerifyReport& report_;
  Findings findings_;
  WorkProgress progress_;
  std::optional<WorkBudget> budget_;  // set before anything is made
  unsigned threads_ = 1;
  bool one_part_ = false;  // LEAVES segments are not checked by themselves
  std::uint64_t total_ = 0;
  LeafHash leaf_hash_ = LeafHash::kXxh3;
  std::vector<SegmentLeaves> absent_;      // leaves that are not present, ascending
  std::set<std::uint64_t> last_granules_;  // by offset of the byte after the record
  struct WholeSegment {
    std::uint32_t segment = 0;
    std::size_t record = 0;  // its index
  };
  std::vector<WholeSegment> whole_segments_;  // records that are exactly one segment; ordered by segment
};

}  // namespace

Result<VerifyReport> verify_container(const mapping::OsFile& file, const VerifyOptions& options,
                                      std::uint64_t generation, const Trust& trust, std::uint64_t max_made_bytes) {
  VerifyReport report;
  {
    Verifier verifier(file, options, max_made_bytes, report);
    FATCTX_TRY(verifier.whole_file(generation, trust));
  }
  return report;
}

Result<VerifyReport> verify_record(const mapping::OsFile& file, const Header& header, const Toc& toc,
                                   const RecordInfo& record, const VerifyOptions& options,
                                   std::uint64_t max_made_bytes) {
  VerifyReport report;
  {
    Verifier verifier(file, options, max_made_bytes, report);
    FATCTX_TRY(verifier.one_record(header, toc, record));
  }
  return report;
}

}  // namespace fatctx::container
