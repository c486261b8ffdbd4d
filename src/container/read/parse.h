// Bytes to checked structs: the open sequence over bytes that somebody else has read.
//
// Pure: no IO, no state. Each function copies out, checks, converts; what it returns has passed every rule of
// docs/format.md section 9 that can be told from the header and the table of contents. Payload is not needed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "container/format/disk_format.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/record.h"

namespace fatctx::container {

// Redundancy that a file has lost without losing anything else.
enum Degraded : std::uint32_t {
  kDegradedPrologue0 = 1U << 0,
  kDegradedPrologue1 = 1U << 1,
  kDegradedSlotA0 = 1U << 2,  // and B0, A1, B1 in the bits above, in slot order
  kDegradedHeaderPadding = 1U << 6,
  kDegradedToc0 = 1U << 7,
  kDegradedToc1 = 1U << 8,
  kDegradedOlderPair = 1U << 9,  // whole, but of a generation before the one before the newest
};
[[nodiscard]] std::vector<std::string> degraded_texts(std::uint32_t degraded);

// Zeros between the pages of the header.
inline constexpr ByteRange kHeaderGaps[] = {{0x2000, 0x2000}, {0x5000, 0x3000}, {0xA000, 0x2000}, {0xD000, 0x3000}};
// What a signed slot says of that.
struct SlotSignature {
  DiskSha256 toc_sha256 = {};
  DiskSha256 previous_toc_sha256 = {};
  DiskSha256 key_id = {};
  DiskSignature signature = {};
};

// What the 64 KiB header says, checked.
struct Header {
  std::string format_version;  // "1.0"
  DiskUuid uuid = {};
  std::uint8_t extent_log2 = 0;
  std::uint8_t granule_log2 = 0;
  std::uint64_t unknown_ro_compat = 0;  // feature bits that a writer would have to know (F3)
  std::uint64_t generation = 0;
  std::uint64_t newest_generation = 0;  // that the slots name; `generation` may be an earlier one
  std::uint64_t committed_end = 0;
  std::array<std::uint64_t, 2> toc_offset = {};
  std::uint64_t toc_size = 0;
  Hash128 toc_hash;
  std::optional<SlotSignature> signature;  // nobody has checked it yet
  bool sealed = false;
  std::uint8_t pair = 0;  // 0: A, 1: B
  std::uint64_t tail_bytes = 0;
  std::uint32_t degraded = 0;
};

// `header` holds the first min(file_size, 64 KiB) bytes of the file.
// Errors: truncated, bad_magic, unsupported, malformed, checksum_mismatch, trailing_data, limit_exceeded.
[[nodiscard]] Result<Header> parse_header(ByteView header, std::uint64_t file_size);
// The same of `generation`, if that is the one before the newest and the other pair of slots holds it. Errors: as well.
[[nodiscard]] Result<std::optional<Header>> parse_previous_header(ByteView header, std::uint64_t file_size,
                                                                  std::uint64_t generation);

// For whoever changes a file, or writes it anew.
// Errors: unsupported (a newer version wrote it in a way that only it can change, F3).
[[nodiscard]] Status check_changeable(const Header& header);

struct Segment {
  SegmentKind kind = SegmentKind::kPayload;
  std::uint8_t alignment_log2 = 0;
  std::uint8_t hash_algorithm = kHashXxh3;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t generation = 0;
  std::uint32_t leaves_segment = kNoSegment;
  std::uint64_t first_leaf = 0;
  Hash128 leaves_hash;

  [[nodiscard]] std::uint64_t leaf_count() const noexcept { return (size + kLeafSize - 1) >> kLeafLog2; }
};

struct Slice {
  std::uint32_t segment = 0;
  ByteRange range;  // in the segment
};

struct Reference {
  std::uint32_t from_record = 0;
  std::uint32_t to_record = 0;
  ReferenceKind kind = ReferenceKind::kWeights;
};

struct Generation {  // an earlier one whose bytes are still there
  std::uint64_t number = 0;
  std::uint64_t toc_offset = 0;  // of one copy; the other ends at committed_end
  std::uint64_t toc_size = 0;
  std::uint64_t committed_end = 0;
  Hash128 toc_hash;
};
// Where the two copies of its table lie.
[[nodiscard]] constexpr std::array<std::uint64_t, 2> copies_of(const Generation& generation) noexcept {
  return {generation.toc_offset, generation.committed_end - generation.toc_size};
}

struct RecordForm {  // what RecordInfo does not show
  std::uint32_t first_slice = 0;
  std::uint8_t codec = kCodecNone;
  bool recipe = false;
};

// The table of contents. Strings in it borrow from `bytes`, and lists of weights from `weight_ids`; both move with it.
// The number of its allocations does not depend on the number of records.
struct Toc {
  std::vector<std::byte> bytes;
  std::vector<Segment> segments;
  std::vector<RecordInfo> records;  // ascending id
  std::vector<RecordForm> forms;    // one per record
  std::vector<Slice> slices;
  std::vector<Reference> references;
  std::vector<Generation> generations;    // ascending
  std::vector<std::uint32_t> weight_ids;  // of all records, one behind the other
  // A key that the caller trusts has signed it: payload is compared with SHA-256, which is in the rows of a signed
  // table, and not with XXH3, which anybody can make fit.
  bool authenticated = false;

  // Null if there is no such record.
  [[nodiscard]] const RecordInfo* find(std::uint32_t id) const noexcept;
  // Of DEAD segments: nobody refers to them any more.
  [[nodiscard]] std::uint64_t dead_bytes() const noexcept;
  [[nodiscard]] ByteRange in_file(const Slice& slice) const noexcept {
    return {segments[slice.segment].offset + slice.range.offset, slice.range.size};
  }
  [[nodiscard]] std::size_t index_of(const RecordInfo& record) const noexcept {
    return static_cast<std::size_t>(&record - records.data());
  }
};

// True if `bytes` is the TOC that `header` names (F13).
[[nodiscard]] bool toc_hash_matches(ByteView bytes, const Header& header) noexcept;

// Requires: toc_hash_matches. `copy` (0 or 1) says where the bytes came from, for offsets in errors.
// Errors: malformed, unsupported, bad_reference, limit_exceeded.
[[nodiscard]] Result<Toc> parse_toc(std::vector<std::byte> bytes, const Header& header, int copy);

}  // namespace fatctx::container
