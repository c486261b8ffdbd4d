// The structs of a container's bytes. docs/format.md is the normative text; if it and this file differ, it is right.
//
// Every struct has alignment 1, is little-endian and has no padding. It is only copied out of or into a buffer: file
// bytes are never cast to these types. `reserved` is written as zero; any other value is refused,
// unless a feature bit of a newer version is set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fatctx/base/little_endian.h"

namespace fatctx::container {

using DiskHash = std::array<std::byte, 16>;    // XXH3-128, canonical (big-endian) byte order
using DiskSha256 = std::array<std::byte, 32>;  // zero if there is none
using DiskUuid = std::array<std::byte, 16>;
using DiskSignature = std::array<std::byte, 64>;  // Ed25519

inline constexpr std::array<std::byte, 8> kMagic = {std::byte{0x89}, std::byte{'C'},  std::byte{'T'},  std::byte{'X'},
                                                    std::byte{0x0d}, std::byte{0x0a}, std::byte{0x1a}, std::byte{0x0a}};
inline constexpr std::array<std::byte, 4> kSlotMagic = {std::byte{'C'}, std::byte{'T'}, std::byte{'X'}, std::byte{'S'}};
inline constexpr std::array<std::byte, 4> kTocMagic = {std::byte{'C'}, std::byte{'T'}, std::byte{'X'}, std::byte{'T'}};

inline constexpr std::uint16_t kMajorVersion = 1;
inline constexpr std::uint16_t kMinorVersion = 0;

// Feature bits that this version understands. None is defined yet.
inline constexpr std::uint64_t kKnownIncompatFeatures = 0;
inline constexpr std::uint64_t kKnownRoCompatFeatures = 0;
inline constexpr std::uint64_t kKnownCompatFeatures = 0;

// Bytes of a prologue or slot: one sector, which a disk writes as a whole or not at all.
inline constexpr std::uint64_t kSectorSize = 0x200;

inline constexpr std::uint8_t kSmallExtentLog2 = 12;  // segments of the small form start on this
inline constexpr std::uint8_t kExtentLog2 = 16;       // those of the large form
inline constexpr std::uint8_t kLargeExtentLog2 = 21;  // or on this, on request

// The places of the header's sectors. Slots are A0, B0, A1, B1: index 0..3.
struct HeaderForm {
  std::uint64_t size = 0;
  std::array<std::uint64_t, 2> prologues = {};
  std::array<std::uint64_t, 4> slots = {};
  unsigned unit_log2 = 0;  // the alignment of TOC copies and of everything that an append skips
};
// The mirrors of both pairs are in four different blocks of 4 KiB (small form) or 16 KiB (large form). An
// append never writes both copies of anything in one step, nor their blocks (docs/format.md, section 13).
inline constexpr HeaderForm kSmallForm = {0x4000, {0x0000, 0x1000}, {0x0800, 0x1800, 0x2800, 0x3800}, kSmallExtentLog2};
inline constexpr HeaderForm kLargeForm = {0x10000, {0x0000, 0x8000}, {0x1000, 0x4000, 0x9000, 0xC000}, kExtentLog2};
[[nodiscard]] constexpr const HeaderForm& header_form(unsigned extent_log2) noexcept {
  return extent_log2 < kExtentLog2 ? kSmallForm : kLargeForm;
}
inline constexpr std::uint64_t kLeastHeaderSize = kSmallForm.size;
inline constexpr std::uint64_t kMostHeaderSize = kLargeForm.size;

inline constexpr unsigned kSmallRecordLog2 = 6;  // records inside a packed segment
inline constexpr unsigned kLeafLog2 = 16;        // payload bytes under one leaf hash
inline constexpr std::uint64_t kLeafSize = std::uint64_t{1} << kLeafLog2;
inline constexpr std::uint64_t kLeavesPerPage = 4096;  // leaf hashes under one hash of a leaf page
inline constexpr std::uint64_t kTocPageSize = 0x1000;  // bytes of a TOC or tensor table under one hash
inline constexpr std::uint32_t kNoSegment = 0xffffffff;
inline constexpr std::uint32_t kNoRow = 0xffffffff;

// Limits (docs/format.md, section 8).
inline constexpr std::uint64_t kMaxTocSize = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kMaxFileSize = std::uint64_t{1} << 47;
inline constexpr std::uint64_t kMaxSegments = 131072;
inline constexpr std::uint64_t kMaxRecords = 65536;
inline constexpr std::uint64_t kMaxSlices = 262144;
inline constexpr std::uint64_t kMaxKeys = kMaxRecords;
inline constexpr std::uint64_t kMaxReferences = 131072;
inline constexpr std::uint64_t kMaxGenerations = 1024;
inline constexpr std::uint64_t kMaxLeaves = std::uint64_t{1} << 24;  // per segment
inline constexpr std::uint64_t kMaxNameSize = 255;
inline constexpr std::uint64_t kMaxTensorNameSize = 4096;
inline constexpr std::uint64_t kMaxDescriptionSize = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxColdRecordSize = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMaxExpansion = 255;  // logical <= 255 x stored + 64 for a coded record
inline constexpr std::uint64_t kExpansionSlack = 64;

struct Prologue {  // format.md 3.1; one sector, written once
  std::array<std::byte, 8> magic;
  le16 major_version;
  le16 minor_version;
  std::uint8_t extent_log2;
  std::uint8_t granule_log2;
  std::array<std::byte, 2> reserved0;
  le64 incompat_features;
  le64 ro_compat_features;
  le64 compat_features;
  DiskUuid uuid;
  std::array<std::byte, 440> reserved1;
  DiskHash page_hash;  // XXH3-128, seed 0, of the sector before this field
};
static_assert(sizeof(Prologue) == kSectorSize && alignof(Prologue) == 1);
static_assert(offsetof(Prologue, page_hash) == kSectorSize - sizeof(DiskHash));

inline constexpr std::uint8_t kSlotSealed = 1;  // flags of a slot
inline constexpr std::uint8_t kSlotVoid = 2;
inline constexpr std::uint8_t kKnownSlotFlags = kSlotSealed | kSlotVoid;

struct Slot {  // format.md 3.2; one sector
  std::array<std::byte, 4> magic;
  std::uint8_t slot_index;  // 0 A0, 1 B0, 2 A1, 3 B1
  std::uint8_t flags;
  std::array<std::byte, 2> reserved0;
  DiskUuid uuid;
  le64 generation;     // of a VOID slot: the live generation minus one
  le64 committed_end;  // in a VOID slot this and all later fields are zero
  std::array<le64, 2> toc_offset;
  le64 toc_size;
  le64 toc_head_size;
  DiskHash toc_hash;      // of the head, which has the hashes of all pages
  DiskSha256 toc_sha256;  // of the head
  DiskHash previous_toc_hash;
  DiskSha256 previous_toc_sha256;  // of the signed generation that this one was made from
  DiskSha256 key_id;               // SHA-256 of the public key
  DiskSignature signature;         // of a SignedMessage
  std::array<std::byte, 232> reserved1;
  DiskHash page_hash;  // XXH3-128 of the sector before this field; seed = XXH3-64(uuid, slot_index)
};
static_assert(sizeof(Slot) == kSectorSize && alignof(Slot) == 1);
static_assert(offsetof(Slot, page_hash) == kSectorSize - sizeof(DiskHash));

inline constexpr std::array<char, 14> kSignedMessageMagic = {'F', 'A', 'T', 'C', 'T', 'X', '-',
                                                             'S', 'I', 'G', '-', 'v', '1', '\0'};

struct SignedMessage {  // format.md 3.4; never stored: built from slot and TOC
  std::array<char, 14> magic;
  DiskUuid uuid;
  le64 generation;
  le64 committed_end;
  le64 toc_size;
  le64 toc_head_size;
  le32 hash_algorithm;  // always kHashSha256
  DiskSha256 toc_sha256;
  DiskSha256 previous_toc_sha256;
};
static_assert(sizeof(SignedMessage) == 130 && alignof(SignedMessage) == 1);

struct TocHeader {  // format.md 4.1
  std::array<std::byte, 4> magic;
  le32 table_count;  // directory entries behind this header: always kTableCount
  DiskUuid uuid;
  le64 generation;
  le64 toc_size;
  le64 head_size;  // this header, the directory and the hashes of the pages; the tables begin behind it
  le32 page_count;
  le32 flags;
  std::array<std::byte, 8> reserved;
};
static_assert(sizeof(TocHeader) == 64 && alignof(TocHeader) == 1);
inline constexpr std::uint32_t kTocSha256 = 1;  // flags: SHA-256 of each page follow; digests of everything are there

// The order of the directory and of the tables behind it.
enum class Table : std::uint32_t {
  kSegments,
  kRecords,
  kSlices,
  kKeys,
  kReferences,
  kGenerations,
  kRecordDigests,
  kSegmentDigests,
  kNameIndex,
  kNames
};
inline constexpr std::uint32_t kTableCount = 10;

struct DirectoryEntry {  // format.md 4.2
  le64 offset;           // from the first byte of the TOC
  le64 count;
  le32 entry_size;
  std::array<std::byte, 4> reserved;
};
static_assert(sizeof(DirectoryEntry) == 24 && alignof(DirectoryEntry) == 1);

enum class SegmentKind : std::uint16_t {
  kPayload = 1,  // bytes of one record, or of several equal ones
  kPacked = 2,   // several small records, each aligned to 64 bytes
  kLeaves = 3,   // leaf hashes of the segments of its generation
  kDead = 4,     // bytes that nothing refers to
};

struct SegmentEntry {  // format.md 5.1; ascending by offset
  le16 kind;
  std::uint8_t alignment_log2;
  std::uint8_t hash_algorithm;  // of leaves: 1 = XXH3-128, 2 = SHA-256 (LEAVES only)
  std::uint8_t leaf_log2;
  std::array<std::byte, 3> reserved0;
  le64 offset;
  le64 size;
  le64 generation;      // the one that wrote it
  le64 first_leaf;      // where its leaf range begins in its LEAVES segment, in hashes
  le32 leaves_segment;  // index in this table; kNoSegment for LEAVES, DEAD, and a segment of one leaf
  std::array<std::byte, 4> reserved1;
  DiskHash leaves_hash;  // of its leaf range; of one leaf: the leaf; in a LEAVES segment: of its own bytes; DEAD: zero
};
static_assert(sizeof(SegmentEntry) == 64 && alignof(SegmentEntry) == 1);

struct SegmentDigest {  // format.md 5.8; in the order of the segments, or none at all
  le64 first_leaf;
  le32 leaves_segment;  // as in SegmentEntry, of the SHA-256 leaves
  std::array<std::byte, 4> reserved;
  DiskSha256 leaves_sha256;  // zero if the segment has none
};
static_assert(sizeof(SegmentDigest) == 48 && alignof(SegmentDigest) == 1);

inline constexpr std::uint8_t kHashXxh3 = 1;
inline constexpr std::uint8_t kHashSha256 = 2;
inline constexpr std::uint8_t kCodecNone = 0;
inline constexpr std::uint8_t kCodecLz4Frame = 1;

inline constexpr std::uint16_t kRecordIgnorable = 1;  // flags of a record
inline constexpr std::uint16_t kRecordMustMap = 2;
inline constexpr std::uint16_t kRecordRecipe = 4;  // its slices hold a recipe, not its bytes

struct RecordEntry {  // format.md 5.2; ascending by record_id
  le32 record_id;
  le16 type;
  le16 flags;
  std::uint8_t codec;
  std::uint8_t alignment_log2;
  std::array<std::byte, 2> reserved0;
  le32 name;         // offset in the names region
  le32 key;          // index of its key; kNoRow if it has none
  le32 first_slice;  // index in the slice table
  le32 slice_count;
  le32 link;  // of a weight blob: index of the record with its tensor table; else of the first reference; or kNoRow
  le64 logical_size;
  le64 stored_size;  // sum of its slices
  DiskHash logical_hash;
};
static_assert(sizeof(RecordEntry) == 64 && alignof(RecordEntry) == 1);

struct RecordDigest {  // format.md 5.8; in the order of the records, or none at all
  DiskSha256 logical_sha256;
};
static_assert(sizeof(RecordDigest) == 32 && alignof(RecordDigest) == 1);

struct SliceEntry {  // format.md 5.3; in the order of their records
  le32 segment;      // index in the segment table
  std::array<std::byte, 4> reserved;
  le64 offset_in_segment;
  le64 size;
};
static_assert(sizeof(SliceEntry) == 24 && alignof(SliceEntry) == 1);

struct DiskVersion {
  le16 major_version;
  le16 minor_version;
  le32 patch_version;
  le32 build_version;
};
static_assert(sizeof(DiskVersion) == 12 && alignof(DiskVersion) == 1);

inline constexpr std::uint16_t kKeyGeneric = 1;  // flags of a key

struct KeyEntry {  // format.md 5.4; ascending by key
  le32 record_id;
  le16 type;
  le16 flags;
  le32 group;  // this and the following strings: offsets in the names region
  le32 unit;
  le32 backend;
  le32 qnn_soc;
  le32 part;
  le32 arch;
  le32 features;
  le32 vtcm_mb;
  DiskVersion sdk;
  le32 variant;
  DiskVersion api;
  DiskVersion blob;
};
static_assert(sizeof(KeyEntry) == 80 && alignof(KeyEntry) == 1);

enum class ReferenceKind : std::uint16_t {
  kWeights = 1,      // a context binary uses a weight blob
  kTensorTable = 2,  // a tensor table describes a weight blob
};

struct ReferenceEntry {  // format.md 5.5; ascending by (from, kind, role, to)
  le32 from_record;
  le32 to_record;
  le16 kind;
  le16 role;  // 0; reserved for far and near weights
  std::array<std::byte, 4> reserved;
  DiskHash bound_hash;  // logical hash of the target record
  DiskHash table_hash;  // of the head of the tensor table that refers; zero if weights are used
};
static_assert(sizeof(ReferenceEntry) == 48 && alignof(ReferenceEntry) == 1);

struct GenerationEntry {  // format.md 5.6; ascending by number; earlier generations only
  le64 number;
  le64 toc_offset;
  le64 toc_size;
  le64 toc_head_size;
  le64 committed_end;
  DiskHash toc_hash;
  DiskSha256 toc_sha256;
};
static_assert(sizeof(GenerationEntry) == 88 && alignof(GenerationEntry) == 1);

struct NameIndexEntry {  // format.md 5.9; ascending by hash, then by record
  le32 hash;             // name_hash() of the name
  le32 record;           // index of the record; in a tensor table: of the tensor
};
static_assert(sizeof(NameIndexEntry) == 8 && alignof(NameIndexEntry) == 1);

inline constexpr std::uint64_t kTableEntrySizes[kTableCount] = {sizeof(SegmentEntry),   sizeof(RecordEntry),
                                                                sizeof(SliceEntry),     sizeof(KeyEntry),
                                                                sizeof(ReferenceEntry), sizeof(GenerationEntry),
                                                                sizeof(RecordDigest),   sizeof(SegmentDigest),
                                                                sizeof(NameIndexEntry), 1};
// Rows that a newer version made longer are at most this long.
inline constexpr std::uint64_t kMaxEntrySize = 4096;
inline constexpr std::uint64_t kTableMaxCounts[kTableCount] = {
    kMaxSegments,    kMaxRecords, kMaxSlices,   kMaxKeys,    kMaxReferences,
    kMaxGenerations, kMaxRecords, kMaxSegments, kMaxRecords, kMaxTocSize};
// The hashes of the pages start here.
inline constexpr std::uint64_t kPageHashesStart = sizeof(TocHeader) + kTableCount * sizeof(DirectoryEntry);

// The bytes behind a head, in pages with a hash each: of a table of contents, or of a tensor table.
[[nodiscard]] constexpr std::uint64_t toc_pages(std::uint64_t body_size) noexcept {
  return body_size / kTocPageSize + (body_size % kTocPageSize != 0 ? 1 : 0);
}
// The size of a TOC's head.
[[nodiscard]] constexpr std::uint64_t toc_head_size(std::uint64_t pages, bool sha256) noexcept {
  return kPageHashesStart + pages * (sizeof(DiskHash) + (sha256 ? sizeof(DiskSha256) : 0));
}
// The hashes that a leaf range stores for this many leaves: none for one leaf, which is in the segment's row.
[[nodiscard]] constexpr std::uint64_t leaf_units(std::uint64_t leaves) noexcept {
  if (leaves < 2) return 0;
  return leaves <= kLeavesPerPage ? leaves : leaves + (leaves + kLeavesPerPage - 1) / kLeavesPerPage;
}

}  // namespace fatctx::container
