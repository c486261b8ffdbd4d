// A container split into its tables, to be changed and reassembled with every checksum correct, as a hostile author
// would do. Nothing here is checked.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "container/format/copy_out.h"
#include "container/format/disk_format.h"
#include "container/format/leaf_range.h"
#include "container/format/name_index.h"
#include "container/read/tensor_table.h"
#include "container/read/tensor_table_format.h"
#include "support/rehash.h"

namespace fatctx::support {

// A container that can be changed. Requires: its generation is in pair A, its TOC copy 1 is the last extent, as the
// packer writes it, and its TOC stays below 64 KiB unless more room is made for it.
class HostileFile {
 public:
  explicit HostileFile(Bytes good) : file_(std::move(good)) {
    prologue = struct_at<container::Prologue>(file_, container::kPrologueOffsets[0]);
    live = struct_at<container::Slot>(file_, container::kSlotOffsets[0]);
    other = struct_at<container::Slot>(file_, container::kSlotOffsets[1]);
    const auto size = static_cast<std::size_t>(live.toc_size);
    const ByteView toc = ByteView(file_).subspan(static_cast<std::size_t>(live.toc_offset[0]), size);
    head = struct_at<container::TocHeader>(toc, 0);
    take(toc, container::Table::kSegments, segments);
    take(toc, container::Table::kRecords, records);
    take(toc, container::Table::kSlices, slices);
    take(toc, container::Table::kKeys, keys);
    take(toc, container::Table::kReferences, references);
    take(toc, container::Table::kGenerations, generations);
    take(toc, container::Table::kRecordDigests, record_digests);
    take(toc, container::Table::kSegmentDigests, segment_digests);
    take(toc, container::Table::kNames, names);
  }

  container::Prologue prologue;
  container::Slot live;   // written to A0 and A1
  container::Slot other;  // written to B0 and B1
  container::TocHeader head;
  std::vector<container::SegmentEntry> segments;
  std::vector<container::RecordEntry> records;
  std::vector<container::SliceEntry> slices;
  std::vector<container::KeyEntry> keys;
  std::vector<container::ReferenceEntry> references;
  std::vector<container::GenerationEntry> generations;
  std::vector<container::RecordDigest> record_digests;
  std::vector<container::SegmentDigest> segment_digests;
  Bytes names;
  std::array<Bytes, container::kTableCount> row_tails;  // bytes behind each row of a table, as of a newer version

  bool keep_links = false;                 // `key` and `link` of records stay; else they follow the other tables
  bool rehash_payload = false;             // leaves, record hashes and bound hashes follow a change of the payload
  bool keep_pages = false;                 // of these, not the hashes of the pages of tensor tables
  bool keep_record_hashes = false;         // of these, the leaves only
  std::function<void(Bytes&)> in_payload;  // the file, before anything is hashed
  std::function<void(Bytes&)> in_toc;      // the finished TOC, before it is hashed
  std::function<void(Bytes&)> in_header;   // the file with its header, before the pages are hashed
  std::function<void(Bytes&)> at_last;     // the file; no checksum follows

  // Reassembles the file and returns its bytes.
  [[nodiscard]] Bytes bytes() {
    Bytes out = file_;
    if (in_payload) in_payload(out);
    if (rehash_payload) hash_payload(out);
    Bytes toc = encode_toc();
    if (in_toc) in_toc(toc);
    rehash_pages(toc, head.head_size);
    if (toc.size() > toc_room_) throw std::length_error("the TOC of a hostile file must stay small");
    live.toc_head_size = head.head_size;
    if (toc.size() != live.toc_size) {
      live.toc_size = toc.size();
      live.committed_end = live.toc_offset[1] + toc.size();
    }
    out.resize(static_cast<std::size_t>(live.committed_end));
    live.toc_hash = container::hash128(head_in(toc, live.toc_head_size)).bytes;
    for (const std::uint64_t offset : live.toc_offset) std::memcpy(out.data() + offset, toc.data(), toc.size());
    for (const std::uint64_t offset : container::kPrologueOffsets) put_struct(out, offset, prologue);
    for (std::uint8_t index = 0; index < container::kSlotOffsets.size(); ++index) {
      container::Slot slot = index % 2 == 0 ? live : other;
      slot.slot_index = index;
      put_struct(out, container::kSlotOffsets[index], slot);
    }
    if (in_header) in_header(out);
    rehash_header(out);
    if (at_last) at_last(out);
    return out;
  }

  // Adds a new last segment, between the others and TOC copy 1. Returns its index.
  std::uint32_t insert_segment(container::SegmentKind kind, std::uint64_t size) {
    container::SegmentEntry entry = segments.back();
    entry.kind = static_cast<std::uint16_t>(kind);
    entry.offset = live.toc_offset[1];
    entry.size = size;
    entry.leaves_segment = container::kNoSegment;
    entry.first_leaf = 0;
    entry.leaves_hash = {};
    segments.push_back(entry);
    move_toc_copy_1(((size - 1) / container::kLeafSize + 1) * container::kLeafSize);
    return static_cast<std::uint32_t>(segments.size() - 1);
  }
  // Moves everything behind TOC copy 0, so that it has room for `more` additional blocks of 64 KiB.
  void make_room_for_toc(std::size_t more) {
    const std::uint64_t by = more * container::kHeaderSize;
    file_.insert(file_.begin() + static_cast<std::ptrdiff_t>(live.toc_offset[0] + container::kHeaderSize),
                 static_cast<std::size_t>(by), std::byte{0});
    for (container::SegmentEntry& segment : segments) segment.offset = segment.offset + by;
    move_toc_copy_1(by);
    toc_room_ += by;
  }
  void move_toc_copy_1(std::uint64_t by) {
    live.toc_offset[1] = live.toc_offset[1] + by;
    live.committed_end = live.committed_end + by;
  }

  // Adds a record without a key at the end of all tables, over `slice_count` slices that the caller adds.
  container::RecordEntry& append_record(RecordType type, std::uint32_t slice_count, std::uint64_t size) {
    container::RecordEntry entry = {};
    entry.record_id = records.back().record_id + 1;
    entry.type = static_cast<std::uint16_t>(type);
    entry.name = records.front().name;
    entry.first_slice = static_cast<std::uint32_t>(slices.size());
    entry.slice_count = slice_count;
    entry.logical_size = size;
    entry.stored_size = size;
    records.push_back(entry);
    return records.back();
  }
  void append_slice(std::uint32_t segment, std::uint64_t offset, std::uint64_t size) {
    container::SliceEntry entry = {};
    entry.segment = segment;
    entry.offset_in_segment = offset;
    entry.size = size;
    slices.push_back(entry);
  }

  [[nodiscard]] container::RecordEntry& record(RecordType type) {
    for (container::RecordEntry& entry : records) {
      if (entry.type == static_cast<std::uint16_t>(type)) return entry;
    }
    throw std::out_of_range("no record of this type");
  }
  [[nodiscard]] container::KeyEntry& key_of(const container::RecordEntry& of) {
    for (container::KeyEntry& key : keys) {
      if (key.record_id == of.record_id) return key;
    }
    throw std::out_of_range("no key of this record");
  }
  [[nodiscard]] container::SliceEntry& slice_of(const container::RecordEntry& of) { return slices.at(of.first_slice); }

  // Replaces the bytes of a packed record that is the last one of its segment. The record must have a single slice.
  void replace_last_packed(RecordType type, const Bytes& payload) {
    container::RecordEntry& entry = record(type);
    container::SliceEntry& slice = slice_of(entry);
    container::SegmentEntry& segment = segments.at(slice.segment);
    entry.logical_size = entry.stored_size = payload.size();
    slice.size = payload.size();
    segment.size = slice.offset_in_segment + payload.size();
    const std::uint64_t at = segment.offset + slice.offset_in_segment;
    in_payload = [at, payload](Bytes& file) { std::memcpy(file.data() + at, payload.data(), payload.size()); };
    rehash_payload = true;
  }

  // Returns the offset of `text` in the names region; throws if it is missing.
  [[nodiscard]] std::uint32_t name(const std::string& text) const {
    for (const auto& [offset, found] : names_by_offset()) {
      if (found == text) return offset;
    }
    throw std::out_of_range("no name " + text);
  }
  // Adds a name in sorted order; every table is adjusted. Returns its offset.
  std::uint32_t add_name(const std::string& text) {
    const std::map<std::uint32_t, std::string> before = names_by_offset();
    std::map<std::string, std::uint32_t> after;
    for (const auto& [offset, found] : before) after.emplace(found, 0);
    after.emplace(text, 0);
    names.clear();
    for (auto& [found, offset] : after) {
      offset = static_cast<std::uint32_t>(names.size());
      container::append_struct(names, le16(static_cast<std::uint16_t>(found.size())));
      const auto characters = std::as_bytes(std::span(found));
      names.insert(names.end(), characters.begin(), characters.end());
    }
    const auto follow = [&](le32& field) { field = after.at(before.at(field)); };
    for (container::RecordEntry& entry : records) follow(entry.name);
    for (container::KeyEntry& key : keys) {
      for (le32* field : {&key.group, &key.unit, &key.backend, &key.part, &key.arch, &key.features, &key.variant}) {
        follow(*field);
      }
    }
    return after.at(text);
  }

 private:
  template <typename T>
  static void take(ByteView toc, container::Table which, std::vector<T>& table) {
    const auto entry = struct_at<container::DirectoryEntry>(
        toc, sizeof(container::TocHeader) + static_cast<std::size_t>(which) * sizeof(container::DirectoryEntry));
    for (std::uint64_t i = 0; i < entry.count; ++i) table.push_back(struct_at<T>(toc, entry.offset + i * sizeof(T)));
  }

  [[nodiscard]] std::map<std::uint32_t, std::string> names_by_offset() const {
    std::map<std::uint32_t, std::string> found;
    for (std::size_t at = 0; at + sizeof(le16) <= names.size();) {
      const auto size = struct_at<le16>(names, at);
      if (!within({at + sizeof(size), size}, names.size())) break;
      found.emplace(static_cast<std::uint32_t>(at),
                    std::string(reinterpret_cast<const char*>(names.data()) + at + sizeof(size), size));
      at += sizeof(size) + size;
    }
    return found;
  }

  // Sets `key` and `link` of the records, as a packer would.
  void set_links() {
    for (std::size_t i = 0; i < records.size(); ++i) {
      container::RecordEntry& entry = records[i];
      entry.key = container::kNoRow;
      entry.link = container::kNoRow;
      for (std::size_t key = 0; key < keys.size(); ++key) {
        if (keys[key].record_id == entry.record_id) entry.key = static_cast<std::uint32_t>(key);
      }
      for (std::size_t at = references.size(); at-- > 0;) {
        if (references[at].from_record == entry.record_id) entry.link = static_cast<std::uint32_t>(at);
      }
    }
    for (const container::ReferenceEntry& reference : references) {
      if (reference.kind != static_cast<std::uint16_t>(container::ReferenceKind::kTensorTable)) continue;
      const auto from = index_of(reference.from_record);
      const auto to = index_of(reference.to_record);
      if (from < records.size() && to < records.size()) records[to].link = static_cast<std::uint32_t>(from);
    }
  }
  [[nodiscard]] std::size_t index_of(std::uint32_t id) const {
    std::size_t index = 0;
    while (index < records.size() && records[index].record_id != id) ++index;
    return index;
  }
  [[nodiscard]] std::vector<container::NameIndexEntry> index_names() const {
    const std::map<std::uint32_t, std::string> by_offset = names_by_offset();
    std::vector<std::string_view> of_records;
    for (const container::RecordEntry& entry : records) {
      const auto found = by_offset.find(entry.name);
      of_records.emplace_back(found == by_offset.end() ? std::string_view() : std::string_view(found->second));
    }
    return container::name_index(of_records);
  }

  [[nodiscard]] Bytes encode_toc() {
    if (!keep_links) set_links();
    Bytes tables[container::kTableCount];
    std::uint64_t counts[container::kTableCount] = {};
    const auto put_rows = [&](container::Table which, const auto& rows) {
      const auto table = static_cast<std::size_t>(which);
      counts[table] = rows.size();
      for (const auto& entry : rows) {
        container::append_struct(tables[table], entry);
        tables[table].insert(tables[table].end(), row_tails[table].begin(), row_tails[table].end());
      }
    };
    put_rows(container::Table::kSegments, segments);
    put_rows(container::Table::kRecords, records);
    put_rows(container::Table::kSlices, slices);
    put_rows(container::Table::kKeys, keys);
    put_rows(container::Table::kReferences, references);
    put_rows(container::Table::kGenerations, generations);
    put_rows(container::Table::kRecordDigests, record_digests);
    put_rows(container::Table::kSegmentDigests, segment_digests);
    put_rows(container::Table::kNameIndex, index_names());
    tables[container::kTableCount - 1] = names;
    counts[container::kTableCount - 1] = names.size();
    std::uint64_t body = 0;
    for (const Bytes& table : tables) body += table.size();
    const std::uint64_t pages = container::toc_pages(body);
    head.head_size = container::toc_head_size(pages, (head.flags & container::kTocSha256) != 0);
    head.page_count = static_cast<std::uint32_t>(pages);
    head.toc_size = head.head_size + body;
    std::uint64_t offset = head.head_size;
    Bytes toc;
    container::append_struct(toc, head);
    for (std::size_t i = 0; i < container::kTableCount; ++i) {
      container::DirectoryEntry entry = {};
      entry.offset = offset;
      entry.count = counts[i];
      entry.entry_size = static_cast<std::uint32_t>(container::kTableEntrySizes[i] + row_tails[i].size());
      container::append_struct(toc, entry);
      offset += tables[i].size();
    }
    toc.resize(static_cast<std::size_t>(head.head_size));
    for (const Bytes& table : tables) toc.insert(toc.end(), table.begin(), table.end());
    return toc;
  }

  void hash_payload(Bytes& out) {
    const auto range = [&](std::uint64_t offset, std::uint64_t size) {
      return ByteView(out).subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
    };
    for (const container::RecordEntry& entry : records) {
      if (!keep_pages && entry.type == static_cast<std::uint16_t>(RecordType::kTensorTable) && entry.slice_count == 1 &&
          entry.codec == container::kCodecNone) {
        const container::SliceEntry& slice = slices.at(entry.first_slice);
        rehash_table(std::span(out).subspan(
            static_cast<std::size_t>(segments.at(slice.segment).offset + slice.offset_in_segment),
            static_cast<std::size_t>(slice.size)));
      }
    }
    for (container::SegmentEntry& segment : segments) {
      if (segment.kind != static_cast<std::uint16_t>(container::SegmentKind::kPayload) &&
          segment.kind != static_cast<std::uint16_t>(container::SegmentKind::kPacked)) {
        continue;
      }
      const std::uint64_t count = (segment.size - 1) / container::kLeafSize + 1;
      container::LeafRangeBuilder<Hash128> leaves(count);
      for (std::uint64_t at = 0; at < segment.size; at += container::kLeafSize) {
        const std::uint64_t size = std::min<std::uint64_t>(container::kLeafSize, segment.size - at);
        leaves.add(container::hash128(range(segment.offset + at, size)));
      }
      segment.leaves_hash = leaves.finish().bytes;
      const Bytes stored = leaves.take();
      if (stored.empty()) continue;
      const std::uint64_t to = segments.at(segment.leaves_segment).offset + segment.first_leaf * 16;
      std::memcpy(out.data() + to, stored.data(), stored.size());
    }
    for (container::SegmentEntry& segment : segments) {
      if (segment.kind != static_cast<std::uint16_t>(container::SegmentKind::kLeaves)) continue;
      segment.leaves_hash = container::hash128(range(segment.offset, segment.size)).bytes;
    }
    if (keep_record_hashes) return;
    for (container::RecordEntry& entry : records) {
      if (entry.slice_count != 1 || entry.codec != container::kCodecNone) continue;  // of a frame: of its content
      const container::SliceEntry& slice = slices.at(entry.first_slice);
      const std::uint64_t at = segments.at(slice.segment).offset + slice.offset_in_segment;
      entry.logical_hash = container::hash128(range(at, slice.size)).bytes;
    }
    for (container::ReferenceEntry& reference : references) {
      for (const container::RecordEntry& entry : records) {
        if (entry.record_id == reference.to_record) reference.bound_hash = entry.logical_hash;
        if (entry.record_id == reference.from_record) follow_table(out, entry, reference);
      }
    }
  }
  // Corrects the hash of a tensor table's head, if its record has one slice and holds a table.
  void follow_table(const Bytes& out, const container::RecordEntry& entry, container::ReferenceEntry& reference) {
    if (reference.kind != static_cast<std::uint16_t>(container::ReferenceKind::kTensorTable)) return;
    if (entry.slice_count != 1 || entry.codec != container::kCodecNone) return;
    const container::SliceEntry& slice = slices.at(entry.first_slice);
    const std::uint64_t at = segments.at(slice.segment).offset + slice.offset_in_segment;
    const ByteView table = ByteView(out).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(slice.size));
    if (table.size() < sizeof(container::TensorTableHeader)) return;
    const auto header = struct_at<container::TensorTableHeader>(table, 0);
    if (sizeof(header) + header.page_count * 16ULL > table.size()) return;
    reference.table_hash = container::table_hash_of(table).bytes;
  }

  Bytes file_;
  std::uint64_t toc_room_ = container::kHeaderSize;
};

}  // namespace fatctx::support
