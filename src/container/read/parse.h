// Turns bytes that the caller has read into checked structs: the steps of an open.
//
// Pure: no IO, no state. Each function copies out, checks and converts. Its result satisfies every rule of
// docs/format.md, section 9, that can be decided from the header and the table of contents alone, without payload.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/raw_array.h"
#include "container/format/disk_format.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/record.h"

namespace fatctx::container {

// A set of flags for lost redundancy, where nothing else is lost.
enum Degraded : std::uint32_t {
  kDegradedPrologue0 = 1U << 0,
  kDegradedPrologue1 = 1U << 1,
  kDegradedSlotA0 = 1U << 2,  // B0, A1 and B1 are the next bits, in slot order
  kDegradedHeaderPadding = 1U << 6,
  kDegradedToc0 = 1U << 7,
  kDegradedToc1 = 1U << 8,
  kDegradedOlderPair = 1U << 9,  // intact, but of a generation older than the one before the newest
};
[[nodiscard]] std::vector<std::string> degraded_texts(std::uint32_t degraded);

// Returns the gaps between the sectors of the header, in pieces that do not cross a 4 KiB page; they are zero.
[[nodiscard]] std::vector<ByteRange> header_gaps(const HeaderForm& form);
// The signature fields of a signed slot.
struct SlotSignature {
  DiskSha256 toc_sha256 = {};
  DiskSha256 previous_toc_sha256 = {};
  DiskSha256 key_id = {};
  DiskSignature signature = {};
};

// The checked contents of the header.
struct Header {
  std::string format_version;  // "1.0"
  DiskUuid uuid = {};
  std::uint8_t extent_log2 = 0;
  std::uint8_t granule_log2 = 0;
  std::uint64_t unknown_ro_compat = 0;  // feature bits that a writer must know (F3)
  std::uint64_t unknown_compat = 0;     // feature bits that nobody must know (F3)
  std::uint64_t generation = 0;
  std::uint64_t newest_generation = 0;  // the one that the slots name; `generation` may be an earlier one
  std::uint64_t committed_end = 0;
  std::array<std::uint64_t, 2> toc_offset = {};
  std::uint64_t toc_size = 0;
  std::uint64_t toc_head_size = 0;
  Hash128 toc_hash;                        // of the head
  std::optional<SlotSignature> signature;  // not verified yet
  bool sealed = false;
  std::uint8_t pair = 0;  // 0: A, 1: B
  std::uint64_t tail_bytes = 0;
  std::uint32_t degraded = 0;

  [[nodiscard]] const HeaderForm& form() const noexcept { return header_form(extent_log2); }
  // Returns whether a newer version may have given reserved bytes and bits a meaning. Then nobody judges them (F20).
  [[nodiscard]] bool has_newer_fields() const noexcept { return (unknown_ro_compat | unknown_compat) != 0; }
};

// The first bytes of a file that say the form of its header, if copy 0 of the prologue is good or the form is small.
inline constexpr std::uint64_t kFormBytes = 0x1200;
// Returns the form that `first`, the first kFormBytes of a file, says; the large form if it says none.
[[nodiscard]] const HeaderForm& form_of(ByteView first) noexcept;

// Checks the header, but not its padding, which it does not look at. `header` holds the first min(file_size, 64 KiB)
// bytes of the file. Errors: truncated, bad_magic, unsupported, malformed, checksum_mismatch, trailing_data,
// limit_exceeded.
[[nodiscard]] Result<Header> parse_header(ByteView header, std::uint64_t file_size);
// Returns the header of `generation` if it is the one before the newest and the other pair of slots holds it; nothing
// otherwise. Errors: the same.
[[nodiscard]] Result<std::optional<Header>> parse_previous_header(ByteView header, std::uint64_t file_size,
                                                                  std::uint64_t generation);

// Returns where the newest generation ends, though the file may end before. Checks less than parse_header(): the value
// is for the caller to compare with limits. Errors: as parse_header().
[[nodiscard]] Result<std::uint64_t> committed_end_of(ByteView header, std::uint64_t file_size);

// Returns the feature bits of a newer version as text: "ro_compat 0x4, compat 0x1"; empty if there are none.
[[nodiscard]] std::string newer_features_text(const Header& header);
// Returns whether this version may change the file in place.
// Errors: unsupported (a newer version wrote it in a way that only it can change, F3).
[[nodiscard]] Status check_changeable(const Header& header);
// Returns whether this version may write the file anew, from the fields that it knows.
// Errors: unsupported (as above, or the file has fields of a newer version, which the new file would lose).
[[nodiscard]] Status check_rewritable(const Header& header);

struct Segment {
  SegmentKind kind = SegmentKind::kPayload;
  std::uint8_t alignment_log2 = 0;
  std::uint8_t hash_algorithm = kHashXxh3;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t generation = 0;
  std::uint32_t leaves_segment = kNoSegment;  // kNoSegment also if it has one leaf, which is `leaves_hash`
  std::uint64_t first_leaf = 0;
  Hash128 leaves_hash;

  [[nodiscard]] std::uint64_t leaf_count() const noexcept { return (size + kLeafSize - 1) >> kLeafLog2; }
  [[nodiscard]] bool holds_payload() const noexcept {
    return kind == SegmentKind::kPayload || kind == SegmentKind::kPacked;
  }
};

struct Slice {
  std::uint32_t segment = 0;
  ByteRange range;  // in the segment
};

struct Reference {
  std::uint32_t from_record = 0;
  std::uint32_t to_record = 0;
  ReferenceKind kind = ReferenceKind::kWeights;
  Hash128 table_hash;  // of the head of the tensor table
};

struct Generation {  // an earlier one whose bytes still exist
  std::uint64_t number = 0;
  std::uint64_t toc_offset = 0;  // of its first copy; the second ends at committed_end
  std::uint64_t toc_size = 0;
  std::uint64_t toc_head_size = 0;
  std::uint64_t committed_end = 0;
  Hash128 toc_hash;
};
// Returns the offsets of the two copies of its table.
[[nodiscard]] constexpr std::array<std::uint64_t, 2> copies_of(const Generation& generation) noexcept {
  return {generation.toc_offset, generation.committed_end - generation.toc_size};
}

struct RecordForm {  // the members that RecordInfo lacks
  std::uint32_t first_slice = 0;
  std::uint32_t key = kNoRow;   // index in the key table
  std::uint32_t link = kNoRow;  // as in RecordEntry
  std::uint32_t name = 0;       // offset in the names region
  std::uint8_t codec = kCodecNone;
  bool recipe = false;
};

struct TableRange {
  std::uint64_t offset = 0;  // offset of its first row in the TOC
  std::uint64_t count = 0;
  std::uint64_t entry_size = 0;
};

// The head of a table of contents: the directory of its tables, and facts about the hashes of its pages.
struct TocHead {
  std::array<TableRange, kTableCount> tables = {};
  std::uint64_t page_count = 0;
  bool sha256 = false;  // a SHA-256 of each page follows the other hashes, and there are digests of everything

  [[nodiscard]] const TableRange& table(Table which) const noexcept { return tables[static_cast<std::size_t>(which)]; }
};

// A table of contents: whole, or with only the rows that were needed so far (PartialToc). Its strings borrow from
// `bytes`, and lists of weights from `weight_ids`; both move with it. The number of its allocations does not depend on
// the number of records.
struct Toc {
  RawArray<std::byte> bytes;
  TocHead head;
  RawArray<Segment> segments;
  RawArray<RecordInfo> records;  // ascending id
  RawArray<RecordForm> forms;    // one per record
  RawArray<Slice> slices;
  RawArray<Reference> references;
  std::vector<Generation> generations;  // ascending; only of a whole table
  RawArray<std::uint32_t> weight_ids;   // one per reference that names weights
  // The size of the committed part without the header and without the second copy of the table.
  std::uint64_t stored_bytes = 0;
  // True if a key that the caller trusts has signed the table. Then payload is compared with SHA-256, which the rows of
  // a signed table contain, and not with XXH3, which an attacker can match.
  bool authenticated = false;
  // True if reserved bytes and bits may be fields of a newer version; as Header::has_newer_fields().
  bool newer_fields = false;
  // The copy that the bytes are of, or were of at first.
  int copy = 0;

  // Returns the record with this id; null if there is none. Requires: the table is whole.
  [[nodiscard]] const RecordInfo* find(std::uint32_t id) const noexcept;
  // Returns the size of all DEAD segments: nothing refers to them. Requires: the table is whole.
  [[nodiscard]] std::uint64_t dead_bytes() const noexcept;
  [[nodiscard]] ByteRange in_file(const Slice& slice) const noexcept {
    return {segments[slice.segment].offset + slice.range.offset, slice.range.size};
  }
  [[nodiscard]] ByteView bytes_view() const noexcept { return {bytes.data(), bytes.size()}; }
  [[nodiscard]] std::size_t index_of(const RecordInfo& record) const noexcept {
    return static_cast<std::size_t>(&record - records.data());
  }
};

// Returns whether `bytes` is the TOC that `header` names (F13): its head, and each page.
[[nodiscard]] bool toc_matches(ByteView bytes, const Header& header) noexcept;
// Replaces in `bytes` a head and pages that do not match their hashes (F13) by those of `other`. Returns whether
// `bytes` is then the TOC that `header` names. Both have its size.
[[nodiscard]] bool mend_toc(std::span<std::byte> bytes, ByteView other, const Header& header) noexcept;

// Sizes the arrays of `toc` by its head, and sets its facts about the header. Makes no row.
void size_toc(Toc& toc, const Header& header);
// Checks all rows and makes them. Requires: `toc` has its head and sizes; `bytes` are whole. They need not be its own.
[[nodiscard]] Status parse_rows(Toc& toc, ByteView bytes, const Header& header, int copy);

// Parses and checks the whole table. Requires: toc_matches. `copy` (0 or 1) tells which copy was read, for offsets in
// errors.
// Errors: malformed, unsupported, bad_reference, limit_exceeded.
[[nodiscard]] Result<Toc> parse_toc(RawArray<std::byte> bytes, const Header& header, int copy);
[[nodiscard]] inline Result<Toc> parse_toc(ByteView bytes, const Header& header, int copy) {
  return parse_toc(RawArray<std::byte>(bytes), header, copy);
}

}  // namespace fatctx::container
