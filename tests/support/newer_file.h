// A file of a later minor version: every reserved byte and bit is set, rows are longer, a record has an unknown type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "support/hostile_file.h"
#include "support/pattern.h"

namespace fatctx::support {

constexpr std::uint64_t kNewerBit = std::uint64_t{1} << 40;  // no feature of this version
constexpr std::uint16_t kNewerRecordType = 40;
constexpr std::byte kNewerByte{0xa5};

template <typename T>
void fill(T& reserved) {
  std::fill(reserved.begin(), reserved.end(), kNewerByte);
}

// Gives every reserved byte and bit of all pages and rows a value, as fields of a newer version would.
inline void fill_reserved(HostileFile& file) {
  file.prologue.minor_version = 7;
  fill(file.prologue.reserved0);
  fill(file.prologue.reserved1);
  for (container::Slot* slot : {&file.live, &file.other}) {
    slot->flags = static_cast<std::uint8_t>(slot->flags | 0x80U);
    fill(slot->reserved0);
    fill(slot->reserved1);
  }
  fill(file.head.reserved);
  file.head.flags = file.head.flags | 0x80000000U;
  for (container::SegmentEntry& entry : file.segments) {
    fill(entry.reserved0);
    fill(entry.reserved1);
  }
  for (container::RecordEntry& entry : file.records) {
    entry.flags = static_cast<std::uint16_t>(entry.flags | 0x8000U);
    fill(entry.reserved0);
  }
  for (container::SliceEntry& entry : file.slices) fill(entry.reserved);
  for (container::KeyEntry& entry : file.keys) {
    entry.flags = static_cast<std::uint16_t>(entry.flags | 0x8000U);
  }
  for (container::ReferenceEntry& entry : file.references) fill(entry.reserved);
  file.in_toc = [](Bytes& toc) {
    for (std::uint32_t i = 0; i < container::kTableCount; ++i) {
      const std::size_t at = sizeof(container::TocHeader) + i * sizeof(container::DirectoryEntry);
      auto entry = struct_at<container::DirectoryEntry>(toc, at);
      fill(entry.reserved);
      put_struct(toc, at, entry);
    }
  };
}

// Makes the rows of each table longer, each table by another number of bytes.
inline void lengthen_rows(HostileFile& file) {
  for (std::size_t table = 0; table + 1 < container::kTableCount; ++table) {
    file.row_tails[table] = pattern(8 * (table + 1), static_cast<unsigned>(table) + 1);
  }
}

// Adds a record of a type that this version does not know and may ignore.
inline void add_unknown_record(HostileFile& file) {
  const std::uint32_t name = file.add_name("of a newer version");
  const container::RecordEntry like = file.record(RecordType::kContextBinary);
  const container::SliceEntry slice = file.slice_of(like);
  container::RecordEntry& added = file.append_record(static_cast<RecordType>(kNewerRecordType), 1, slice.size);
  added.name = name;
  added.flags = container::kRecordIgnorable;
  added.logical_hash = like.logical_hash;
  added.alignment_log2 = like.alignment_log2;
  file.append_slice(slice.segment, slice.offset_in_segment, slice.size);
}

}  // namespace fatctx::support
