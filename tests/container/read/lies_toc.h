// Malformed tables of contents, table by table. Every hash is right.
#pragma once

#include <cstring>
#include <utility>

#include "container/read/lie.h"

namespace fatctx::container {

inline void set_directory(support::Bytes& toc, Table which, void (*edit)(DirectoryEntry&)) {
  const std::uint64_t at = sizeof(TocHeader) + static_cast<std::uint64_t>(which) * sizeof(DirectoryEntry);
  auto entry = support::struct_at<DirectoryEntry>(toc, at);
  edit(entry);
  support::put_struct(toc, at, entry);
}

template <typename T, typename Edit>
void edit_row(support::Bytes& toc, Table which, std::uint64_t index, Edit edit) {
  const auto table = support::struct_at<DirectoryEntry>(
      toc, sizeof(TocHeader) + static_cast<std::uint64_t>(which) * sizeof(DirectoryEntry));
  const std::uint64_t at = table.offset + index * sizeof(T);
  auto row = support::struct_at<T>(toc, at);
  edit(row);
  support::put_struct(toc, at, row);
}
template <typename Edit>
void edit_index(support::Bytes& toc, std::uint64_t index, Edit edit) {
  edit_row<NameIndexEntry>(toc, Table::kNameIndex, index, edit);
}
inline NameIndexEntry index_entry(support::Bytes& toc, std::uint64_t index) {
  NameIndexEntry found = {};
  edit_index(toc, index, [&](NameIndexEntry& entry) { found = entry; });
  return found;
}

inline GenerationEntry generation_row(std::uint64_t number, std::uint64_t toc_offset, std::uint64_t toc_size,
                                      std::uint64_t committed_end) {
  GenerationEntry entry = {};
  entry.number = number;
  entry.toc_offset = toc_offset;
  entry.toc_size = toc_size;
  entry.toc_head_size = kPageHashesStart + sizeof(DiskHash);
  entry.committed_end = committed_end;
  return entry;
}

// Makes the file look signed: it has everything that a reader without keys checks.
inline void with_sha256(support::HostileFile& f) {
  std::uint64_t leaves = 0;
  for (const SegmentEntry& segment : f.segments) leaves += segment.kind == 3 ? segment.size / sizeof(DiskHash) : 0;
  const std::uint32_t index = f.insert_segment(SegmentKind::kLeaves, leaves * sizeof(DiskSha256));
  f.segments[index].hash_algorithm = kHashSha256;
  for (const SegmentEntry& segment : f.segments) {
    SegmentDigest digest = {};
    digest.leaves_segment = segment.leaves_segment == kNoSegment ? kNoSegment : index;
    digest.first_leaf = segment.first_leaf;
    if (segment.kind < 3) digest.leaves_sha256[0] = std::byte{1};
    f.segment_digests.push_back(digest);
  }
  for (const RecordEntry& record : f.records) {
    f.record_digests.push_back({});
    f.record_digests.back().logical_sha256[31] = static_cast<std::byte>(std::uint32_t{record.record_id});
  }
  f.head.flags = kTocSha256;
  f.live.toc_sha256[0] = f.live.key_id[0] = f.live.signature[0] = std::byte{1};
}

inline constexpr Lie kTocLies[] = {
    {"both copies damaged",
     [](auto& f) {
       f.at_last = [](auto& b) { b[0x10200] ^= std::byte{1}, b[b.size() - 1] ^= std::byte{1}; };
     },
     ErrorCode::kChecksumMismatch, "F13"},
    {"no magic", [](auto& f) { f.head.magic[3] = std::byte{'S'}; }, ErrorCode::kMalformed, "F12"},
    {"another size than the slot says",
     [](auto& f) {
       f.in_toc = [](auto& t) {
         auto head = support::struct_at<TocHeader>(t, 0);
         head.toc_size = head.toc_size + 1;
         support::put_struct(t, 0, head);
       };
     },
     ErrorCode::kMalformed, "F12"},
    {"another uuid than the slot", [](auto& f) { f.head.uuid[0] ^= std::byte{1}; }, ErrorCode::kMalformed, "F37"},
    {"another generation than the slot", [](auto& f) { f.head.generation = 2; }, ErrorCode::kMalformed, "F37"},
    {"six tables", [](auto& f) { f.head.table_count = 6; }, ErrorCode::kMalformed, "F40"},
    {"reserved bytes of its header", [](auto& f) { f.head.reserved[7] = std::byte{1}; }, ErrorCode::kMalformed, "F20"},
    {"an unknown flag of its header", [](auto& f) { f.head.flags = 2; }, ErrorCode::kMalformed, "F20"},
    {"another head than the slot says",
     [](auto& f) {
       f.in_toc = [](auto& t) {
         auto head = support::struct_at<TocHeader>(t, 0);
         head.head_size = head.head_size + 16;
         support::put_struct(t, 0, head);
       };
     },
     ErrorCode::kMalformed, "F12"},
    {"another number of pages",
     [](auto& f) {
       f.in_toc = [](auto& t) {
         auto head = support::struct_at<TocHeader>(t, 0);
         head.page_count = head.page_count + 1;
         support::put_struct(t, 0, head);
       };
     },
     ErrorCode::kMalformed, "F12", "hashes of pages"},
    {"2^32 - 1 pages",
     [](auto& f) {
       f.in_toc = [](auto& t) {
         auto head = support::struct_at<TocHeader>(t, 0);
         head.page_count = UINT32_MAX;
         support::put_struct(t, 0, head);
       };
     },
     ErrorCode::kMalformed, "F12", "hashes of pages"},
    {"both copies of one page damaged",
     [](auto& f) {
       f.at_last = [](auto& b) { b[0x10000 + 600] ^= std::byte{1}, b[b.size() - 1] ^= std::byte{1}; };
     },
     ErrorCode::kChecksumMismatch, "F13"},
    {"digests without a flag", [](auto& f) { f.record_digests.resize(f.records.size()); }, ErrorCode::kMalformed,
     "F44"},
    {"a flag without digests", [](auto& f) { f.head.flags = kTocSha256; }, ErrorCode::kMalformed, "F44"},
    {"digests of some segments",
     [](auto& f) {
       with_sha256(f);
       f.segment_digests.pop_back();
     },
     ErrorCode::kMalformed, "F44", "some segments"},
    {"a signature without digests",
     [](auto& f) { f.live.toc_sha256[0] = f.live.key_id[0] = f.live.signature[0] = std::byte{1}; },
     ErrorCode::kMalformed, "F44", "signed table of contents without"},
    {"an index of too few names",
     [](auto& f) {
       f.in_toc = [](auto& t) {
         set_directory(t, Table::kNameIndex, [](auto& e) { e.count = e.count - 1; });
         set_directory(t, Table::kNames, [](auto& e) { e.offset = e.offset - 8, e.count = e.count + 8; });
       };
     },
     ErrorCode::kMalformed, "F45"},
    {"an index of no record",
     [](auto& f) {
       f.in_toc = [](auto& t) { edit_index(t, 0, [](auto& e) { e.record = 7; }); };
     },
     ErrorCode::kMalformed, "F45", "no record whose name"},
    {"an index with another hash",
     [](auto& f) {
       f.in_toc = [](auto& t) { edit_index(t, 0, [](auto& e) { e.hash = e.hash - 1; }); };
     },
     ErrorCode::kMalformed, "F45", "no record whose name"},
    {"an index with a record there twice",
     [](auto& f) {
       f.in_toc = [](auto& t) {
         const auto first = index_entry(t, 0);
         edit_index(t, 1, [&](auto& e) { e = first; });
       };
     },
     ErrorCode::kMalformed, "F45", "ascending order"},
    {"a record that names no key",
     [](auto& f) {
       f.keep_links = true;
       f.records[2].key = kNoRow;
     },
     ErrorCode::kMalformed, "F45", "names another key"},
    {"a record without key that names one",
     [](auto& f) {
       f.append_record(RecordType::kOpaque, 0, 0);
       f.in_toc = [](auto& t) { edit_row<RecordEntry>(t, Table::kRecords, 7, [](auto& e) { e.key = 0; }); };
     },
     ErrorCode::kMalformed, "F45", "names another key"},
    {"a binary that links another reference",
     [](auto& f) {
       f.keep_links = true;
       f.records[1].link = f.records[1].link + 1;
     },
     ErrorCode::kMalformed, "F45", "links another"},
    {"weights that link no tensor table",
     [](auto& f) {
       f.keep_links = true;
       f.records[4].link = kNoRow;
     },
     ErrorCode::kMalformed, "F45", "links another"},
    {"entries of another size",
     [](auto& f) {
       f.in_toc = [](auto& t) {
         set_directory(t, Table::kKeys, [](auto& e) { e.entry_size = 79; });
       };
     },
     ErrorCode::kMalformed, "F12"},
    {"more segments than allowed",
     [](auto& f) {
       f.in_toc = [](auto& t) {
         set_directory(t, Table::kSegments, [](auto& e) { e.count = kMaxSegments + 1; });
       };
     },
     ErrorCode::kLimitExceeded, "F12"},
    {"a count whose product wraps",
     [](auto& f) {
       f.in_toc = [](auto& t) {
         set_directory(t, Table::kSegments, [](auto& e) { e.count = (std::uint64_t{1} << 57) + e.count; });
       };
     },
     ErrorCode::kLimitExceeded, "F12"},
    {"reserved bytes of the directory",
     [](auto& f) {
       f.in_toc = [](auto& t) {
         set_directory(t, Table::kNames, [](auto& e) { e.reserved[0] = std::byte{1}; });
       };
     },
     ErrorCode::kMalformed, "F20"},
    {"a gap between two tables",
     [](auto& f) {
       f.in_toc = [](auto& t) {
         set_directory(t, Table::kSlices, [](auto& e) { e.offset = e.offset + 1; });
       };
     },
     ErrorCode::kMalformed, "F40"},
    {"a table over the one before",
     [](auto& f) {
       f.in_toc = [](auto& t) {
         set_directory(t, Table::kRecords, [](auto& e) { e.offset = kPageHashesStart; });
       };
     },
     ErrorCode::kMalformed, "F40"},
    {"a table that leaves the table of contents",
     [](auto& f) {
       f.in_toc = [](auto& t) {
         set_directory(t, Table::kNames, [](auto& e) { e.count = e.count + 1; });
       };
     },
     ErrorCode::kMalformed, "F12", "leaves the table of contents"},
    {"a byte behind the last table", [](auto& f) { f.in_toc = [](auto& t) {
                                          auto head = support::struct_at<TocHeader>(t, 0);
                                          head.toc_size = head.toc_size + 1;
                                          support::put_struct(t, 0, head);
                                          t.push_back(std::byte{0});
                                        }; },
     ErrorCode::kMalformed, "F12"},

    // Names.
    {"half a size at the end of the names", [](auto& f) { f.names.push_back(std::byte{1}); }, ErrorCode::kMalformed,
     "F30"},
    {"a name that leaves the region",
     [](auto& f) {
       f.names.push_back(std::byte{2});
       f.names.push_back(std::byte{0});
       f.names.push_back(std::byte{'z'});
     },
     ErrorCode::kMalformed, "F30"},
    {"no empty name in front", [](auto& f) { f.names.erase(f.names.begin(), f.names.begin() + 2); },
     ErrorCode::kMalformed, "F30"},
    {"names in descending order", [](auto& f) { f.names[f.name("model") + 2] = std::byte{'a'}; }, ErrorCode::kMalformed,
     "F30"},
    {"a name there twice", [](auto& f) { f.names[f.name("x86-64-v4") + 2 + 8] = std::byte{'3'}; },
     ErrorCode::kMalformed, "F30"},
    {"a control character in a name", [](auto& f) { f.names[f.name("main") + 2 + 3] = std::byte{0x1b}; },
     ErrorCode::kMalformed, "F29"},
    {"a slash in a name", [](auto& f) { f.names[f.name("weights") + 2 + 6] = std::byte{'/'}; }, ErrorCode::kMalformed,
     "F29"},
    {"a name that is not UTF-8", [](auto& f) { f.names[f.name("weights") + 2 + 6] = std::byte{0xff}; },
     ErrorCode::kMalformed, "F29"},
    {"a name of 256 bytes", [](auto& f) { f.keys[0].variant = f.add_name(std::string(256, 'z')); },
     ErrorCode::kMalformed, "F29"},
    {"no names at all", [](auto& f) { f.names.clear(); }, ErrorCode::kMalformed, "F30",
     "the names region is empty"},
    {"a name that nothing uses", [](auto& f) { (void)f.add_name("unused"); }, ErrorCode::kMalformed, "F30"},
    {"an offset in the middle of a name", [](auto& f) { f.keys[0].unit = f.keys[0].unit + 1; }, ErrorCode::kMalformed,
     "F30"},
    {"an offset behind the names",
     [](auto& f) { f.keys[0].unit = static_cast<std::uint32_t>(f.names.size()); }, ErrorCode::kMalformed, "F30"},

    // Segments.
    {"a segment of unknown kind", [](auto& f) { f.segments[1].kind = 5; }, ErrorCode::kUnsupported, "F19"},
    {"a segment of kind 0", [](auto& f) { f.segments[1].kind = 0; }, ErrorCode::kUnsupported, "F19"},
    {"an unknown hash", [](auto& f) { f.segments[1].hash_algorithm = 2; }, ErrorCode::kUnsupported, "F25"},
    {"leaves of another size", [](auto& f) { f.segments[1].leaf_log2 = 20; }, ErrorCode::kUnsupported, "F25"},
    {"reserved0 of a segment", [](auto& f) { f.segments[1].reserved0[2] = std::byte{1}; }, ErrorCode::kMalformed, "F20"},
    {"reserved1 of a segment", [](auto& f) { f.segments[1].reserved1[0] = std::byte{1}; }, ErrorCode::kMalformed, "F20"},
    {"an unknown hash of leaves", [](auto& f) { f.segments[6].hash_algorithm = 3; }, ErrorCode::kUnsupported, "F25"},
    {"reserved bytes of a segment's digest",
     [](auto& f) {
       with_sha256(f);
       f.segment_digests[0].reserved[3] = std::byte{1};
     },
     ErrorCode::kMalformed, "F20"},
    {"a SHA-256 of leaves that are nowhere",
     [](auto& f) {
       with_sha256(f);
       f.segment_digests[1].leaves_segment = kNoSegment;
       f.segment_digests[1].first_leaf = 0;
     },
     ErrorCode::kMalformed, "F44"},
    {"SHA-256 leaves without a SHA-256",
     [](auto& f) {
       with_sha256(f);
       f.segment_digests[2].leaves_segment = 7;
     },
     ErrorCode::kMalformed, "F44"},
    {"a first SHA-256 leaf of nowhere",
     [](auto& f) {
       with_sha256(f);
       f.segment_digests[2].first_leaf = 1;
     },
     ErrorCode::kMalformed, "F44"},
    {"a SHA-256 of a LEAVES segment",
     [](auto& f) {
       with_sha256(f);
       f.segment_digests[6].leaves_sha256[0] = std::byte{1};
     },
     ErrorCode::kMalformed, "F44"},
    {"a signed segment without SHA-256 leaves",
     [](auto& f) {
       with_sha256(f);
       f.segment_digests[3].leaves_sha256 = {};
     },
     ErrorCode::kMalformed, "F44", "without SHA-256 leaves"},
    {"a signed record without SHA-256",
     [](auto& f) {
       with_sha256(f);
       f.record_digests[6].logical_sha256 = {};
     },
     ErrorCode::kMalformed, "F44", "record 6"},
    {"XXH3 leaves in a segment of SHA-256 leaves",
     [](auto& f) {
       with_sha256(f);
       f.segments[1].leaves_segment = 7;
     },
     ErrorCode::kMalformed, "F26", "not in a LEAVES segment"},
    {"SHA-256 leaves in a segment of XXH3 leaves",
     [](auto& f) {
       with_sha256(f);
       f.segment_digests[1].leaves_segment = 6;
     },
     ErrorCode::kMalformed, "F26", "not in a LEAVES segment"},
    {"SHA-256 leaves with a gap",
     [](auto& f) {
       with_sha256(f);
       f.segment_digests[5].first_leaf = f.segment_digests[5].first_leaf + 1;
     },
     ErrorCode::kMalformed, "F26", "its leaves start at"},
    {"SHA-256 leaves beyond their segment",
     [](auto& f) {
       with_sha256(f);
       f.segments[7].size = f.segments[7].size - 32;
     },
     ErrorCode::kMalformed, "F26", "leave the LEAVES segment"},
    {"SHA-256 leaves of no segment",
     [](auto& f) {
       with_sha256(f);
       f.segments[7].size = f.segments[7].size + 32;
     },
     ErrorCode::kMalformed, "F26", "another size than its leaves"},
    {"an alignment of 4 KiB", [](auto& f) { f.segments[1].alignment_log2 = 12; }, ErrorCode::kMalformed, "F21"},
    {"an alignment of 2^64", [](auto& f) { f.segments[1].alignment_log2 = 64; }, ErrorCode::kMalformed, "F21"},
    {"an alignment below the file's", [](auto& f) { f.prologue.extent_log2 = kLargeExtentLog2; }, ErrorCode::kMalformed,
     "F21"},
    {"a segment that is not aligned", [](auto& f) { f.segments[1].offset = f.segments[1].offset + 1; },
     ErrorCode::kMalformed, "F21"},
    {"an alignment that its offset lacks", [](auto& f) { f.segments[1].alignment_log2 = kLargeExtentLog2; },
     ErrorCode::kMalformed, "F21"},
    {"a segment without bytes", [](auto& f) { f.segments[1].size = 0; }, ErrorCode::kLimitExceeded, "F22"},
    {"a segment beyond the limit", [](auto& f) { f.segments[1].size = (kMaxLeaves << kLeafLog2) + 1; },
     ErrorCode::kLimitExceeded, "F22"},
    {"a segment in the header", [](auto& f) { f.segments[0].offset = 0; }, ErrorCode::kMalformed, "F16",
     "is in the header"},
    {"a segment behind the end", [](auto& f) { f.segments[6].offset = f.live.committed_end + 0x10000 - f.live.toc_size; },
     ErrorCode::kMalformed, "F16"},
    {"a segment whose end wraps", [](auto& f) { f.segments[6].offset = UINT64_MAX - 0xffff; }, ErrorCode::kMalformed,
     "F16"},
    {"a segment of generation 0", [](auto& f) { f.segments[1].generation = 0; }, ErrorCode::kMalformed, "F37"},
    {"a segment of a later generation", [](auto& f) { f.segments[1].generation = 2; }, ErrorCode::kMalformed, "F37"},
    {"leaves of a LEAVES segment", [](auto& f) { f.segments[6].leaves_segment = 6; }, ErrorCode::kMalformed, "F26"},
    {"a first leaf of a LEAVES segment", [](auto& f) { f.segments[6].first_leaf = 1; }, ErrorCode::kMalformed, "F26"},
    {"leaves of a DEAD segment",
     [](auto& f) { f.segments[f.insert_segment(SegmentKind::kDead, 9)].leaves_segment = 6; }, ErrorCode::kMalformed,
     "F26"},
    {"a DEAD segment in a sealed file",
     [](auto& f) {
       f.insert_segment(SegmentKind::kDead, 9);
       f.live.flags = kSlotSealed;
     },
     ErrorCode::kMalformed, "F36"},
    {"a DEAD segment with a hash",
     [](auto& f) { f.segments[f.insert_segment(SegmentKind::kDead, 9)].leaves_hash[15] = std::byte{1}; },
     ErrorCode::kMalformed, "F20"},
    {"segments in descending order", [](auto& f) { std::swap(f.segments[1], f.segments[2]); }, ErrorCode::kMalformed,
     "F15"},
    {"a segment there twice", [](auto& f) { f.segments[2] = f.segments[1]; }, ErrorCode::kMalformed, "F15"},

    // Extents.
    {"a segment over the next one", [](auto& f) { f.segments[1].size = 0x20001; }, ErrorCode::kMalformed, "F16"},
    {"a segment over TOC copy 0", [](auto& f) { f.segments[0].offset = 0x10000; }, ErrorCode::kMalformed, "F16"},
    {"a segment over TOC copy 1", [](auto& f) { f.segments[6].size = 0x10001; }, ErrorCode::kMalformed, "F16"},
    {"a gap in front of TOC copy 1", [](auto& f) { f.move_toc_copy_1(0x10000); }, ErrorCode::kMalformed, "F17"},
    {"a gap between two segments",
     [](auto& f) {
       f.move_toc_copy_1(0x10000);
       f.segments[6].offset = f.segments[6].offset + 0x10000;
     },
     ErrorCode::kMalformed, "F17"},
    {"an end behind the last extent", [](auto& f) { f.live.committed_end = f.live.committed_end + 1; },
     ErrorCode::kMalformed, "F17"},

    // Leaves.
    {"leaves in a segment that is not there", [](auto& f) { f.segments[1].leaves_segment = 7; }, ErrorCode::kMalformed,
     "F26"},
    {"no leaves", [](auto& f) { f.segments[1].leaves_segment = kNoSegment; }, ErrorCode::kMalformed, "F26"},
    {"leaves in a payload segment", [](auto& f) { f.segments[1].leaves_segment = 2; }, ErrorCode::kMalformed, "F26"},
    {"leaves of a segment that has one", [](auto& f) { f.segments[2].leaves_segment = 6; }, ErrorCode::kMalformed,
     "F26", "of one leaf"},
    {"a first leaf of a segment that has one", [](auto& f) { f.segments[2].first_leaf = 1; }, ErrorCode::kMalformed,
     "F26", "of one leaf"},
    {"leaves over those of the segment before", [](auto& f) { f.segments[5].first_leaf = f.segments[1].first_leaf; },
     ErrorCode::kMalformed, "F26"},
    {"a gap in the leaves", [](auto& f) { f.segments[5].first_leaf = f.segments[5].first_leaf + 1; },
     ErrorCode::kMalformed, "F26"},
    {"leaves over others in a file with DEAD bytes",
     [](auto& f) {
       f.insert_segment(SegmentKind::kDead, 9);
       f.segments[5].first_leaf = f.segments[1].first_leaf;
     },
     ErrorCode::kMalformed, "F26"},
    {"leaves that leave their segment",
     [](auto& f) {
       f.insert_segment(SegmentKind::kDead, 9);
       f.segments[5].first_leaf = f.segments[5].first_leaf + 1;
     },
     ErrorCode::kMalformed, "F26"},
    {"a first leaf whose end wraps",
     [](auto& f) {
       f.insert_segment(SegmentKind::kDead, 9);
       f.segments[5].first_leaf = UINT64_MAX - 1;
     },
     ErrorCode::kMalformed, "F26"},
    {"a LEAVES segment with room to spare", [](auto& f) { f.segments[6].size = f.segments[6].size + 16; },
     ErrorCode::kMalformed, "F26"},
    {"a LEAVES segment with half a leaf",
     [](auto& f) {
       f.insert_segment(SegmentKind::kDead, 9);
       f.segments[6].size = f.segments[6].size + 8;
     },
     ErrorCode::kMalformed, "F26"},
    {"a LEAVES segment that nobody uses", [](auto& f) { f.insert_segment(SegmentKind::kLeaves, 16); },
     ErrorCode::kMalformed, "F26"},

    // Slices.
    {"reserved bytes of a slice", [](auto& f) { f.slices[0].reserved[3] = std::byte{1}; }, ErrorCode::kMalformed,
     "F20"},
    {"a slice of a segment that is not there", [](auto& f) { f.slices[0].segment = 7; }, ErrorCode::kMalformed, "F38",
     "no such segment"},
    {"a slice of a LEAVES segment", [](auto& f) { f.slices[0].segment = 6; }, ErrorCode::kMalformed, "F38",
     "holds no payload"},
    {"a slice of a DEAD segment",
     [](auto& f) { f.slices[0].segment = f.insert_segment(SegmentKind::kDead, 1000); }, ErrorCode::kMalformed, "F38"},
    {"a slice without bytes", [](auto& f) { f.slices[0].size = 0; }, ErrorCode::kMalformed, "F38"},
    {"a slice that leaves its segment", [](auto& f) { f.slices[0].offset_in_segment = 1; }, ErrorCode::kMalformed,
     "F38"},
    {"a slice whose end wraps", [](auto& f) { f.slices[0].offset_in_segment = UINT64_MAX - 3; }, ErrorCode::kMalformed,
     "F38"},
    {"a segment that no record uses",
     [](auto& f) {
       f.slices[0] = f.slices[1];
       f.records[0].logical_size = f.records[0].stored_size = f.slices[1].size;
     },
     ErrorCode::kMalformed, "F38"},

    // Records.
    {"a slice that belongs to no record", [](auto& f) { f.append_slice(1, 0, 1); }, ErrorCode::kMalformed, "F15"},
    {"record id 0", [](auto& f) { f.records[0].record_id = 0; }, ErrorCode::kMalformed, "F18"},
    {"a record id there twice", [](auto& f) { f.records[1].record_id = f.records[0].record_id; }, ErrorCode::kMalformed,
     "F18"},
    {"records in descending order", [](auto& f) { f.records[0].record_id = 9; }, ErrorCode::kMalformed, "F15"},
    {"an unknown flag of a record", [](auto& f) { f.records[0].flags = 8 | kRecordMustMap; }, ErrorCode::kMalformed,
     "F20"},
    {"reserved0 of a record", [](auto& f) { f.records[0].reserved0[1] = std::byte{1}; }, ErrorCode::kMalformed, "F20"},
    {"an unknown record type", [](auto& f) { f.records[0].type = 8; }, ErrorCode::kUnsupported, "F19"},
    {"record type 0", [](auto& f) { f.records[0].type = 0; }, ErrorCode::kUnsupported, "F19"},
    {"a record whose name begins inside of another", [](auto& f) { f.records[0].name = f.records[0].name + 1; },
     ErrorCode::kMalformed, "F30"},
    {"a record without name", [](auto& f) { f.records[0].name = 0; }, ErrorCode::kMalformed, "F29"},
    {"an unknown codec",
     [](auto& f) {
       f.records[0].codec = 2;
       f.records[0].flags = 0;
     },
     ErrorCode::kUnsupported, "F25"},
    {"a record larger than any file", [](auto& f) { f.records[0].logical_size = kMaxFileSize + 1; },
     ErrorCode::kLimitExceeded, "F22"},
    {"a record that stores more than any file", [](auto& f) { f.records[0].stored_size = kMaxFileSize + 1; },
     ErrorCode::kLimitExceeded, "F22"},
    {"an empty record of a type that may not be",
     [](auto& f) { f.append_record(RecordType::kWrapperModel, 0, 0); }, ErrorCode::kMalformed, "F22"},
    {"an empty record with a slice",
     [](auto& f) {
       f.append_record(RecordType::kOpaque, 1, 0);
       f.append_slice(1, 0, 1);
     },
     ErrorCode::kMalformed, "F22"},
    {"a record with bytes but without slice",
     [](auto& f) { f.append_record(RecordType::kOpaque, 0, 1); }, ErrorCode::kMalformed, "F22"},
    {"two sizes without a codec",
     [](auto& f) { f.records[0].logical_size = f.records[0].logical_size - 1; }, ErrorCode::kMalformed, "F22"},
    {"a codec on a record that must map", [](auto& f) { f.records[0].codec = kCodecLz4Frame; }, ErrorCode::kMalformed,
     "F23", "must map"},
    {"a compressed binary that claims not to be mapped",
     [](auto& f) {
       f.records[0].codec = kCodecLz4Frame;
       f.records[0].flags = 0;
     },
     ErrorCode::kMalformed, "F23"},
    {"a compressed weight blob that claims not to be mapped",
     [](auto& f) {
       f.records[4].codec = kCodecLz4Frame;
       f.records[4].flags = 0;
     },
     ErrorCode::kMalformed, "F23"},
    {"a compressed tensor table", [](auto& f) { f.records[5].codec = kCodecLz4Frame; }, ErrorCode::kMalformed, "F23"},
    {"a compressed wrapper model",
     [](auto& f) {
       f.append_record(RecordType::kWrapperModel, 1, 100).codec = kCodecLz4Frame;
       f.append_slice(1, 0, 100);
     },
     ErrorCode::kMalformed, "F23"},
    {"a record that expands too far",
     [](auto& f) {
       auto& record = f.append_record(RecordType::kSourceModel, 1, 100);
       record.codec = kCodecLz4Frame;
       record.logical_size = 100 * kMaxExpansion + kExpansionSlack + 1;
       f.append_slice(1, 0, 100);
     },
     ErrorCode::kLimitExceeded, "F24"},
    {"a coded record above 1 GiB",
     [](auto& f) {
       auto& record = f.append_record(RecordType::kSourceModel, 1, std::uint64_t{1} << 40);
       record.codec = kCodecLz4Frame;
       record.logical_size = kMaxColdRecordSize + 1;
       f.append_slice(1, 0, 100);
     },
     ErrorCode::kLimitExceeded, "F24"},
    {"a description above 1 MiB",
     [](auto& f) {
       auto& record = f.record(RecordType::kDescription);
       record.logical_size = record.stored_size = kMaxDescriptionSize + 1;
     },
     ErrorCode::kLimitExceeded, "F32"},
    {"a description that expands above 1 MiB",
     [](auto& f) {
       auto& record = f.record(RecordType::kDescription);
       record.codec = kCodecLz4Frame;
       record.logical_size = kMaxDescriptionSize + 1;
       record.stored_size = kMaxDescriptionSize;
     },
     ErrorCode::kLimitExceeded, "F32"},
    {"slices of another record", [](auto& f) { f.records[1].first_slice = 0; }, ErrorCode::kMalformed, "F15"},
    {"more slices than there are", [](auto& f) { f.records[6].slice_count = 2; }, ErrorCode::kMalformed, "F38",
     "more slices than there are"},
    {"2^32 - 1 slices", [](auto& f) { f.records[0].slice_count = UINT32_MAX; }, ErrorCode::kMalformed, "F38"},
    {"a second slice that is not on the granule",
     [](auto& f) {
       f.append_record(RecordType::kOpaque, 2, 8192);
       f.append_slice(5, 0, 4096);
       f.append_slice(5, 8191, 4096);
     },
     ErrorCode::kMalformed, "F38"},
    {"a first slice of half a granule",
     [](auto& f) {
       f.append_record(RecordType::kOpaque, 2, 4095 + 4096);
       f.append_slice(5, 0, 4095);
       f.append_slice(5, 8192, 4096);
     },
     ErrorCode::kMalformed, "F38"},
    {"a recipe without a program",
     [](auto& f) { f.append_record(RecordType::kOpaque, 0, 0).flags = kRecordRecipe; }, ErrorCode::kMalformed, "F39",
     "without a program"},
    {"a program in a payload segment",
     [](auto& f) {
       f.append_record(RecordType::kOpaque, 1, 100).flags = kRecordRecipe;
       f.append_slice(5, 0, 100);
     },
     ErrorCode::kMalformed, "F39", "is not in a packed segment"},
    {"a recipe that copies from a packed segment",
     [](auto& f) {
       f.append_record(RecordType::kOpaque, 2, 100 + f.segments[0].size).flags = kRecordRecipe;
       f.append_slice(0, 0, 100);
       f.append_slice(0, 0, f.segments[0].size);
     },
     ErrorCode::kMalformed, "F39", "source 0 of its recipe is not a whole payload segment"},
    {"a recipe that copies from a part of a segment",
     [](auto& f) {
       f.append_record(RecordType::kOpaque, 3, 100 + f.segments[4].size + 4096).flags = kRecordRecipe;
       f.append_slice(0, 0, 100);
       f.append_slice(4, 0, f.segments[4].size);
       f.append_slice(5, 0, 4096);
     },
     ErrorCode::kMalformed, "F39", "source 1 of its recipe is not a whole payload segment"},
    {"a recipe with a source there twice",
     [](auto& f) {
       f.append_record(RecordType::kOpaque, 3, 100 + 2 * f.segments[5].size).flags = kRecordRecipe;
       f.append_slice(0, 0, 100);
       f.append_slice(5, 0, f.segments[5].size);
       f.append_slice(5, 0, f.segments[5].size);
     },
     ErrorCode::kMalformed, "F39", "ascending order"},
    {"slices of a recipe that do not add up",
     [](auto& f) {
       f.append_record(RecordType::kOpaque, 1, 100).flags = kRecordRecipe;
       f.append_slice(0, 0, 99);
     },
     ErrorCode::kMalformed, "F38"},
    {"slices that do not add up", [](auto& f) { f.slices[0].size = f.slices[0].size - 1; }, ErrorCode::kMalformed,
     "F38"},
    {"a record that is less aligned than it says", [](auto& f) { f.records[6].alignment_log2 = 12; },
     ErrorCode::kMalformed, "F21"},
    {"a record aligned to 2^48", [](auto& f) { f.records[0].alignment_log2 = 48; }, ErrorCode::kMalformed, "F21"},
    {"a record aligned to 2^200", [](auto& f) { f.records[0].alignment_log2 = 200; }, ErrorCode::kMalformed, "F21"},
    {"an empty record aligned to 2^48",
     [](auto& f) { f.append_record(RecordType::kOpaque, 0, 0).alignment_log2 = 48; }, ErrorCode::kMalformed, "F21"},

    // Keys.
    {"an unknown flag of a key", [](auto& f) { f.keys[0].flags = 2; }, ErrorCode::kMalformed, "F20"},
    {"a key of a record that is not there", [](auto& f) { f.keys[6].record_id = 8; }, ErrorCode::kMalformed, "F37"},
    {"a key of another type", [](auto& f) { f.keys[6].type = 7; }, ErrorCode::kMalformed, "F37"},
    {"a second key of a record",
     [](auto& f) {
       f.keys.insert(f.keys.begin() + 1, f.keys[0]);
       f.keys[1].vtcm_mb = 1;
     },
     ErrorCode::kMalformed, "F28", "a second key for one record"},
    {"a full key there twice",
     [](auto& f) {
       f.keys[2].arch = f.keys[1].arch;
       f.keys[2].features = f.keys[1].features;
     },
     ErrorCode::kMalformed, "F28"},
    {"a key that differs in facts only",
     [](auto& f) {
       f.keys[2].arch = f.keys[1].arch;
       f.keys[2].api.major_version = 3;
       f.keys[2].blob.minor_version = 4;
       f.keys[2].flags = kKeyGeneric;
     },
     ErrorCode::kMalformed, "F28"},
    {"keys in descending order", [](auto& f) { std::swap(f.keys[1], f.keys[2]); }, ErrorCode::kMalformed, "F15"},
    {"two records of one name", [](auto& f) { f.records[2].name = f.records[1].name; }, ErrorCode::kMalformed, "F28"},
    {"features in descending order", [](auto& f) { f.keys[3].features = f.add_name("b,a"); }, ErrorCode::kMalformed,
     "F15"},
    {"a feature there twice", [](auto& f) { f.keys[3].features = f.add_name("a,a"); }, ErrorCode::kMalformed, "F15"},
    {"an empty feature", [](auto& f) { f.keys[3].features = f.add_name(",a"); }, ErrorCode::kMalformed, "F15"},
    {"features with a comma at the end", [](auto& f) { f.keys[3].features = f.add_name("a,"); }, ErrorCode::kMalformed,
     "F15"},
    {"no key for the description", [](auto& f) { f.keys.pop_back(); }, ErrorCode::kMalformed, "F31"},
    {"two descriptions",
     [](auto& f) {
       auto& record = f.append_record(RecordType::kDescription, 1, 1);
       f.append_slice(1, 0, 1);
       f.keys.push_back(f.keys[6]);
       f.keys[7].record_id = record.record_id;
       f.keys[7].vtcm_mb = 1;
       record.name = f.add_name("zweite");
     },
     ErrorCode::kMalformed, "F31"},
    {"a second description without key",
     [](auto& f) {
       f.append_record(RecordType::kDescription, 1, 1);
       f.append_slice(1, 0, 1);
     },
     ErrorCode::kMalformed, "F31"},

    // References.
    {"reserved bytes of a reference", [](auto& f) { f.references[0].reserved[0] = std::byte{1}; },
     ErrorCode::kMalformed, "F20"},
    {"a hash of a tensor table in a reference to weights", [](auto& f) { f.references[0].table_hash[15] = std::byte{1}; },
     ErrorCode::kMalformed, "F20"},
    {"two tensor tables of one blob",
     [](auto& f) {
       auto& record = f.append_record(RecordType::kTensorTable, 1, 1);
       f.append_slice(1, 0, 1);
       f.references.push_back(f.references[4]);
       f.references[5].from_record = record.record_id;
     },
     ErrorCode::kBadReference, "F27", "two tensor tables"},
    {"a role", [](auto& f) { f.references[0].role = 1; }, ErrorCode::kMalformed, "F20"},
    {"references in descending order", [](auto& f) { std::swap(f.references[0], f.references[1]); },
     ErrorCode::kMalformed, "F15"},
    {"a reference there twice", [](auto& f) { f.references[1] = f.references[0]; }, ErrorCode::kMalformed, "F15"},
    {"a reference from nowhere", [](auto& f) { f.references[4].from_record = 99; }, ErrorCode::kBadReference, "F27"},
    {"a reference to nowhere", [](auto& f) { f.references[4].to_record = 99; }, ErrorCode::kBadReference, "F27"},
    {"a reference to itself", [](auto& f) { f.references[0].to_record = 1; }, ErrorCode::kBadReference, "F27"},
    {"a reference from weights to weights", [](auto& f) { f.references[4].from_record = 5; }, ErrorCode::kBadReference,
     "F27"},
    {"a reference of unknown kind", [](auto& f) { f.references[4].kind = 3; }, ErrorCode::kBadReference, "F27"},
    {"a binary that describes tensors", [](auto& f) { f.references[0].kind = 2; }, ErrorCode::kBadReference, "F27"},
    {"a tensor table that uses weights", [](auto& f) { f.references[4].kind = 1; }, ErrorCode::kBadReference, "F27"},
    {"a reference bound to other weights", [](auto& f) { f.references[0].bound_hash[0] ^= std::byte{1}; },
     ErrorCode::kBadReference, "F27"},
    {"weights exchanged under their binaries", [](auto& f) { f.records[4].logical_hash[15] ^= std::byte{1}; },
     ErrorCode::kBadReference, "F27"},
    {"a tensor table of two blobs",
     [](auto& f) {
       auto& record = f.append_record(RecordType::kWeightBlob, 1, 1);
       f.append_slice(1, 0, 1);
       f.references.push_back(f.references[4]);
       f.references[5].to_record = record.record_id;
       f.references[5].bound_hash = record.logical_hash;
     },
     ErrorCode::kBadReference, "F27"},
    {"a tensor table of no blob", [](auto& f) { f.references.pop_back(); }, ErrorCode::kBadReference, "F27"},

    // Generations.
    {"an earlier generation that is not earlier", [](auto& f) { f.generations.push_back(generation_row(1, 0x10000, 400, 0x20000)); },
     ErrorCode::kMalformed, "F15"},
    {"generation 0",
     [](auto& f) {
       f.live.generation = f.head.generation = 2;
       f.other.generation = 1;
       f.generations.push_back({});
     },
     ErrorCode::kMalformed, "F15"},
    {"an earlier generation there twice",
     [](auto& f) {
       f.live.generation = f.head.generation = 2;
       f.other.generation = 1;
       f.generations.push_back(generation_row(1, 0x10000, 400, 0x20000));
       f.generations.push_back(f.generations[0]);
     },
     ErrorCode::kMalformed, "F15"},
    {"an earlier generation that ends behind this one",
     [](auto& f) {
       f.live.generation = f.head.generation = 2;
       f.other.generation = 1;
       f.generations.push_back(generation_row(1, 0x10000, 300, kMaxFileSize));
     },
     ErrorCode::kMalformed, "F11"},
    {"an earlier table of contents outside its generation",
     [](auto& f) {
       f.live.generation = f.head.generation = 2;
       f.other.generation = 1;
       f.generations.push_back(generation_row(1, 0x20000, 400, 0x20000));
     },
     ErrorCode::kMalformed, "F11"},
    {"an earlier table of contents in the header",
     [](auto& f) {
       f.live.generation = f.head.generation = 2;
       f.other.generation = 1;
       f.generations.push_back(generation_row(1, 0x1000, 400, 0x20000));
     },
     ErrorCode::kMalformed, "F11"},
    {"an earlier table of contents above the limit",
     [](auto& f) {
       f.live.generation = f.head.generation = 2;
       f.other.generation = 1;
       f.generations.push_back(
           generation_row(1, 0x10000, kMaxTocSize + 1, 0x30000));
     },
     ErrorCode::kMalformed, "F11"},
};

}  // namespace fatctx::container
