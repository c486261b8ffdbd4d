#include "container/toc_build.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include <fmt/format.h>

#include "container/copy_out.h"
#include "container/hash.h"

namespace fatctx::container {
namespace {

// The names region: every distinct string once, in bytewise order, the empty one first.
class Names {
 public:
  explicit Names(const Plan& plan) {
    offsets_.emplace(std::string(), 0);
    for (const PlannedRecord& planned : plan.records) {
      const PackKey& key = planned.record.key;
      for (const std::string& text : {planned.record.name, key.group, key.unit, key.backend, key.part, key.arch,
                                      canonical_features(key.features), key.variant}) {
        offsets_.emplace(text, 0);
      }
    }
    std::uint64_t at = 0;
    for (auto& [text, offset] : offsets_) {
      offset = at;
      at += sizeof(le16) + text.size();
    }
    size_ = at;
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t at(const std::string& text) const {
    return static_cast<std::uint32_t>(offsets_.at(text));
  }
  void append_to(std::vector<std::byte>& out) const {
    for (const auto& [text, offset] : offsets_) {
      append_struct(out, le16(static_cast<std::uint16_t>(text.size())));
      const auto bytes = std::as_bytes(std::span(text));
      out.insert(out.end(), bytes.begin(), bytes.end());
    }
  }

 private:
  std::map<std::string, std::uint64_t> offsets_;
  std::uint64_t size_ = 0;
};

struct ReferenceRow {
  std::uint32_t from;
  std::uint16_t kind;
  std::uint32_t to;
  auto operator<=>(const ReferenceRow&) const = default;
};

// Weights by name, and for a tensor table the blob it was made for, which its `weights` names too.
std::vector<ReferenceRow> reference_rows(const Plan& plan) {
  std::map<std::string, std::uint32_t> ids;
  for (const PlannedRecord& planned : plan.records) ids.emplace(planned.record.name, planned.id);
  std::vector<ReferenceRow> rows;
  for (const PlannedRecord& planned : plan.records) {
    const auto kind =
        planned.record.type == RecordType::kTensorTable ? ReferenceKind::kTensorTable : ReferenceKind::kWeights;
    for (const std::string& weights : planned.record.weights) {
      rows.push_back({planned.id, static_cast<std::uint16_t>(kind), ids.at(weights)});
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::array<std::uint64_t, kTableCount> table_counts(const Plan& plan, const Names& names) {
  std::uint64_t slices = 0;
  for (const PlannedRecord& planned : plan.records) slices += plan.records[planned.stored_as].slices.size();
  return {plan.segments.size(), plan.records.size(), slices, plan.records.size(), reference_rows(plan).size(), 0,
          names.size()};
}

SegmentEntry segment_entry(const PlannedSegment& segment, const Plan& plan, const PackOptions& options) {
  SegmentEntry entry = {};
  const bool leaves = segment.kind == SegmentKind::kLeaves;
  entry.kind = static_cast<std::uint16_t>(segment.kind);
  entry.alignment_log2 = options.extent_log2;
  entry.hash_algorithm = kHashXxh3;
  entry.leaf_log2 = static_cast<std::uint8_t>(kLeafLog2);
  entry.offset = segment.offset;
  entry.size = segment.size;
  entry.generation = 1;
  entry.leaves_segment = leaves ? kNoSegment : static_cast<std::uint32_t>(plan.segments.size() - 1);
  entry.sha_leaves_segment = kNoSegment;
  entry.first_leaf = leaves ? 0 : segment.first_leaf;
  entry.leaves_hash = segment.leaves_hash.bytes;
  return entry;
}

// Alignment that a reader may rely on; recorded, never assumed. Pieces are put together on any page.
std::uint8_t record_alignment(const PlannedRecord& planned, const Plan& plan, const PackOptions& options) {
  const std::vector<PlannedSlice>& slices = plan.records[planned.stored_as].slices;
  if (slices.empty()) return 0;
  if (plan.segments[slices[0].segment].kind == SegmentKind::kPacked) return static_cast<std::uint8_t>(kSmallRecordLog2);
  return slices.size() == 1 && slices[0].range.offset == 0 ? options.extent_log2 : options.granule_log2;
}

bool must_map(RecordType type) { return type == RecordType::kContextBinary || type == RecordType::kWeightBlob; }

DiskVersion disk_version(const Version& version) {
  return {version.major, version.minor, version.patch, version.build};
}

KeyEntry key_entry(const PlannedRecord& planned, const Names& names) {
  const PackKey& key = planned.record.key;
  KeyEntry entry = {};
  entry.record_id = planned.id;
  entry.type = static_cast<std::uint16_t>(planned.record.type);
  entry.flags = key.generic ? kKeyGeneric : std::uint16_t{0};
  entry.group = names.at(key.group);
  entry.unit = names.at(key.unit);
  entry.backend = names.at(key.backend);
  entry.qnn_soc = key.qnn_soc;
  entry.part = names.at(key.part);
  entry.arch = names.at(key.arch);
  entry.features = names.at(canonical_features(key.features));
  entry.vtcm_mb = key.vtcm_mb;
  entry.sdk = disk_version(key.sdk);
  entry.variant = names.at(key.variant);
  entry.api = disk_version(key.api);
  entry.blob = disk_version(key.blob);
  return entry;
}

Slot make_slot(std::uint8_t index, const DiskUuid& uuid) {
  Slot slot = {};
  slot.magic = kSlotMagic;
  slot.slot_index = index;
  slot.uuid = uuid;
  return slot;
}

template <typename Page>
void put_page(std::vector<std::byte>& header, std::uint64_t offset, Page page, std::uint64_t seed) {
  std::memcpy(header.data() + offset, &page, sizeof(Page));
  const auto checked = ByteView(header).subspan(static_cast<std::size_t>(offset), offsetof(Page, page_hash));
  const Hash128 hash = hash128(checked, seed);
  std::memcpy(header.data() + offset + offsetof(Page, page_hash), hash.bytes.data(), sizeof(DiskHash));
}

}  // namespace

Result<std::uint64_t> toc_size_of(const Plan& plan) {
  const Names names(plan);
  std::uint64_t size = kTablesStart;
  const auto counts = table_counts(plan, names);
  for (std::uint32_t i = 0; i < kTableCount; ++i) {
    if (counts[i] > kTableMaxCounts[i]) {
      return Error{ErrorCode::kLimitExceeded, fmt::format("table {} would have {} entries, at most {} are allowed", i,
                                                          counts[i], kTableMaxCounts[i])};
    }
    size += counts[i] * kTableEntrySizes[i];
  }
  if (size > kMaxTocSize) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("the table of contents would have {} bytes, at most {} are allowed", size, kMaxTocSize)};
  }
  return size;
}

Result<std::vector<std::byte>> build_toc(const Plan& plan, const PackOptions& options) {
  const Names names(plan);
  std::vector<std::byte> toc;
  toc.reserve(static_cast<std::size_t>(plan.toc_size));
  TocHeader head = {};
  head.magic = kTocMagic;
  head.table_count = kTableCount;
  head.generation = 1;
  head.toc_size = plan.toc_size;
  append_struct(toc, head);
  const auto counts = table_counts(plan, names);
  std::uint64_t offset = kTablesStart;
  for (std::uint32_t i = 0; i < kTableCount; ++i) {
    DirectoryEntry directory = {};
    directory.offset = offset;
    directory.count = counts[i];
    directory.entry_size = static_cast<std::uint32_t>(kTableEntrySizes[i]);
    append_struct(toc, directory);
    offset += counts[i] * kTableEntrySizes[i];
  }
  for (const PlannedSegment& segment : plan.segments) append_struct(toc, segment_entry(segment, plan, options));
  std::uint32_t next_slice = 0;
  for (const PlannedRecord& planned : plan.records) {
    RecordEntry entry = {};
    entry.record_id = planned.id;
    entry.type = static_cast<std::uint16_t>(planned.record.type);
    const std::optional<PlannedRecipe>& recipe = plan.records[planned.stored_as].recipe;
    entry.flags = recipe ? kRecordRecipe : must_map(planned.record.type) ? kRecordMustMap : std::uint16_t{0};
    entry.codec = recipe ? (recipe->packed ? kCodecLz4Frame : kCodecNone) : static_cast<std::uint8_t>(planned.codec);
    entry.alignment_log2 = record_alignment(planned, plan, options);
    entry.name = names.at(planned.record.name);
    entry.first_slice = next_slice;
    entry.slice_count = static_cast<std::uint32_t>(plan.records[planned.stored_as].slices.size());
    entry.logical_size = planned.input.size();
    entry.stored_size = plan.records[planned.stored_as].stored_size;
    entry.logical_hash = plan.records[planned.stored_as].hash.bytes;
    next_slice += entry.slice_count;
    append_struct(toc, entry);
  }
  for (const PlannedRecord& planned : plan.records) {
    for (const PlannedSlice& slice : plan.records[planned.stored_as].slices) {
      SliceEntry entry = {};
      entry.segment = static_cast<std::uint32_t>(slice.segment);
      entry.offset_in_segment = slice.range.offset;
      entry.size = slice.range.size;
      append_struct(toc, entry);
    }
  }
  for (const PlannedRecord& planned : plan.records) append_struct(toc, key_entry(planned, names));
  for (const ReferenceRow& row : reference_rows(plan)) {
    ReferenceEntry entry = {};
    entry.from_record = row.from;
    entry.to_record = row.to;
    entry.kind = row.kind;
    entry.bound_hash = plan.records[plan.records[row.to - 1].stored_as].hash.bytes;
    append_struct(toc, entry);
  }
  names.append_to(toc);
  if (toc.size() != plan.toc_size) {
    return Error{ErrorCode::kInternal,
                 fmt::format("the table of contents has {} bytes, {} were planned", toc.size(), plan.toc_size)};
  }
  return toc;
}

DiskUuid derive_uuid(ByteView toc_without_uuid, const PackOptions& options) {
  Hasher hasher;
  hasher.update(toc_without_uuid);
  const std::array<std::byte, 2> form = {std::byte{options.extent_log2}, std::byte{options.granule_log2}};
  hasher.update(form);
  DiskUuid uuid = hasher.digest().bytes;
  uuid[6] = (uuid[6] & std::byte{0x0f}) | std::byte{0x80};  // version 8: the bits mean what the maker says
  uuid[8] = (uuid[8] & std::byte{0x3f}) | std::byte{0x80};  // the usual variant
  return uuid;
}

void put_uuid(std::vector<std::byte>& toc, const DiskUuid& uuid) {
  std::memcpy(toc.data() + offsetof(TocHeader, uuid), uuid.data(), uuid.size());
}

std::vector<std::byte> build_header(const Plan& plan, ByteView toc, const DiskUuid& uuid, const PackOptions& options) {
  std::vector<std::byte> header(static_cast<std::size_t>(kHeaderSize));
  Prologue prologue = {};
  prologue.magic = kMagic;
  prologue.major_version = kMajorVersion;
  prologue.minor_version = kMinorVersion;
  prologue.extent_log2 = options.extent_log2;
  prologue.granule_log2 = options.granule_log2;
  prologue.uuid = uuid;
  for (const std::uint64_t offset : kPrologueOffsets) put_page(header, offset, prologue, 0);
  constexpr std::uint8_t kSlotCount = kSlotOffsets.size();
  for (std::uint8_t index = 0; index < kSlotCount; ++index) {
    Slot slot = make_slot(index, uuid);
    if (index % 2 == 0) {  // pair A: the first generation
      slot.flags = options.seal ? kSlotSealed : std::uint8_t{0};
      slot.generation = 1;
      slot.committed_end = plan.committed_end;
      slot.toc_offset = {plan.toc_offset[0], plan.toc_offset[1]};
      slot.toc_size = plan.toc_size;
      slot.toc_hash = hash128(toc).bytes;
    } else {
      slot.flags = kSlotVoid;
    }
    put_page(header, kSlotOffsets[index], slot, slot_seed(uuid, index));
  }
  return header;
}

}  // namespace fatctx::container
