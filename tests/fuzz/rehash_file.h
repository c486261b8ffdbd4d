// Corrects every checksum of a file, whatever its tables say: leaves, record hashes, bound hashes, the table of
// contents and the header. Unlike support::HostileFile it trusts nothing: ranges outside the file are skipped.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "container/format/codec.h"
#include "container/format/copy_out.h"
#include "container/format/leaf_range.h"
#include "container/read/tensor_table.h"
#include "container/read/tensor_table_format.h"
#include "support/rehash.h"

namespace fatctx::fuzz {

class FileRehash {
 public:
  // Works on the table of contents that slot A0 names, and writes the result to copy 1 as well. `form` is that of the
  // good file: an edit of the prologue must not move the header.
  FileRehash(support::Bytes& file, const container::HeaderForm& form) : file_(file), form_(form) {}

  void run() {
    if (file_.size() < form_.size) return;
    const auto slot = support::struct_at<container::Slot>(file_, form_.slots[0]);
    const ByteRange toc = {slot.toc_offset[0], slot.toc_size};
    if (within(toc, file_.size()) && toc.size > container::kPageHashesStart && toc.size <= container::kMaxTocSize) {
      hash_tables(toc);
      hash_toc(slot, toc);
    }
    support::rehash_header(file_, form_);
  }

 private:
  // Limits the hashing for one input: overlapping tables could request many times the file's size.
  static constexpr std::uint64_t kBudget = std::uint64_t{4} << 20;
  static constexpr std::uint64_t kMostEntries = 256;

  template <typename T>
  struct Row {
    std::uint64_t at = 0;
    T entry;
  };
  template <typename T>
  [[nodiscard]] std::vector<Row<T>> rows(ByteRange toc, container::Table which) const {
    std::vector<Row<T>> found;
    const auto table = support::struct_at<container::DirectoryEntry>(
        file_, toc.offset + sizeof(container::TocHeader) +
                   static_cast<std::size_t>(which) * sizeof(container::DirectoryEntry));
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(table.count, kMostEntries); ++i) {
      const ByteRange place = {table.offset + i * sizeof(T), sizeof(T)};
      if (!within(place, toc.size)) break;
      found.push_back({toc.offset + place.offset, support::struct_at<T>(file_, toc.offset + place.offset)});
    }
    return found;
  }
  [[nodiscard]] bool affordable(ByteRange range) {
    if (!within(range, file_.size()) || range.size > budget_) return false;
    budget_ -= range.size;
    return true;
  }
  [[nodiscard]] ByteView view(ByteRange range) const {
    return ByteView(file_).subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
  }

  void hash_tables(ByteRange toc) {
    auto segments = rows<container::SegmentEntry>(toc, container::Table::kSegments);
    for (auto& segment : segments) hash_leaves(segment.entry, segments);
    for (auto& segment : segments) {
      const bool leaves = segment.entry.kind == static_cast<std::uint16_t>(container::SegmentKind::kLeaves);
      const ByteRange range = {segment.entry.offset, segment.entry.size};
      if (leaves && affordable(range)) segment.entry.leaves_hash = container::hash128(view(range)).bytes;
      support::put_struct(file_, segment.at, segment.entry);
    }
    auto records = rows<container::RecordEntry>(toc, container::Table::kRecords);
    const auto slices = rows<container::SliceEntry>(toc, container::Table::kSlices);
    for (auto& record : records) {
      hash_record(record.entry, segments, slices);
      support::put_struct(file_, record.at, record.entry);
    }
    for (auto& reference : rows<container::ReferenceEntry>(toc, container::Table::kReferences)) {
      for (const auto& record : records) {
        if (record.entry.record_id == reference.entry.to_record) reference.entry.bound_hash = record.entry.logical_hash;
      }
      support::put_struct(file_, reference.at, reference.entry);
    }
  }

  void hash_leaves(container::SegmentEntry& segment, const std::vector<Row<container::SegmentEntry>>& segments) {
    const bool payload = segment.kind == static_cast<std::uint16_t>(container::SegmentKind::kPayload) ||
                         segment.kind == static_cast<std::uint16_t>(container::SegmentKind::kPacked);
    if (!payload || segment.size == 0 || !affordable({segment.offset, segment.size})) return;
    container::LeafRangeBuilder<Hash128> leaves((segment.size - 1) / container::kLeafSize + 1);
    for (std::uint64_t at = 0; at < segment.size; at += container::kLeafSize) {
      const std::uint64_t size = std::min<std::uint64_t>(container::kLeafSize, segment.size - at);
      leaves.add(container::hash128(view({segment.offset + at, size})));
    }
    segment.leaves_hash = leaves.finish().bytes;
    const support::Bytes stored = leaves.take();
    if (stored.empty() || segment.leaves_segment >= segments.size()) return;
    const container::SegmentEntry& home = segments[segment.leaves_segment].entry;
    const std::uint64_t first = segment.first_leaf;
    if (first > home.size || !within({home.offset, home.size}, file_.size())) return;
    const ByteRange place = {first * sizeof(container::DiskHash), stored.size()};
    if (within(place, home.size))
      std::copy(stored.begin(), stored.end(), file_.begin() + at_byte(home.offset + place.offset));
  }
  static std::ptrdiff_t at_byte(std::uint64_t offset) { return static_cast<std::ptrdiff_t>(offset); }

  void hash_record(container::RecordEntry& record, const std::vector<Row<container::SegmentEntry>>& segments,
                   const std::vector<Row<container::SliceEntry>>& slices) {
    if (record.slice_count != 1 || record.first_slice >= slices.size()) return;
    const container::SliceEntry& slice = slices[record.first_slice].entry;
    if (slice.segment >= segments.size()) return;
    const container::SegmentEntry& segment = segments[slice.segment].entry;
    const ByteRange range = {slice.offset_in_segment, slice.size};
    if (!within(range, segment.size) || !within({segment.offset, segment.size}, file_.size())) return;
    const ByteRange stored = {segment.offset + range.offset, range.size};
    if (!affordable(stored)) return;
    if (record.codec == container::kCodecNone) {
      record.logical_hash = container::hash128(view(stored)).bytes;
    } else if (record.codec == container::kCodecLz4Frame && record.logical_size <= budget_) {
      hash_frame(record, view(stored));
    }
  }
  static void hash_frame(container::RecordEntry& record, ByteView frame) {
    support::Bytes plain;
    container::FrameReader reader(record.logical_size);
    const Status fed = reader.feed(frame, [&](ByteView more) -> Status {
      plain.insert(plain.end(), more.begin(), more.end());
      return Done{};
    });
    if (fed.ok() && reader.finish().ok()) record.logical_hash = container::hash128(plain).bytes;
  }

  void hash_toc(container::Slot slot, ByteRange toc) {
    const ByteRange copy = {slot.toc_offset[1], toc.size};
    const auto from = file_.begin() + at_byte(toc.offset);
    support::Bytes bytes(from, from + at_byte(toc.size));
    support::rehash_pages(bytes, slot.toc_head_size);
    std::copy(bytes.begin(), bytes.end(), from);
    if (within(copy, file_.size())) std::copy(bytes.begin(), bytes.end(), file_.begin() + at_byte(copy.offset));
    const Hash128 hash = container::hash128(support::head_in(bytes, slot.toc_head_size));
    for (const std::size_t index : {std::size_t{0}, std::size_t{2}}) {
      slot = support::struct_at<container::Slot>(file_, form_.slots[index]);
      slot.toc_hash = hash.bytes;
      support::put_struct(file_, form_.slots[index], slot);
    }
  }

  support::Bytes& file_;
  const container::HeaderForm& form_;
  std::uint64_t budget_ = kBudget;
};

}  // namespace fatctx::fuzz
