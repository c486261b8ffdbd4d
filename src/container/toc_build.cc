#include "container/toc_build.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "container/copy_out.h"
#include "container/hash.h"
#include "container/toc_rows.h"

namespace fatctx::container {
namespace {

// Weights by name, and for a tensor table the blob it was made for, which its `weights` names too. Without bound
// hashes.
std::vector<ReferenceEntry> reference_rows(const Plan& plan) {
  std::map<std::string_view, std::uint32_t> ids;
  for (const PlannedRecord& planned : plan.records) ids.emplace(planned.record.name, planned.id);
  std::vector<ReferenceEntry> rows;
  for (const PlannedRecord& planned : plan.records) {
    const auto kind =
        planned.record.type == RecordType::kTensorTable ? ReferenceKind::kTensorTable : ReferenceKind::kWeights;
    for (const std::string& weights : planned.record.weights) {
      ReferenceEntry entry = {};
      entry.from_record = planned.id;
      entry.to_record = ids.at(weights);
      entry.kind = static_cast<std::uint16_t>(kind);
      entry.bound_hash = plan.records[plan.records[entry.to_record - 1].stored_as].hash.bytes;
      rows.push_back(entry);
    }
  }
  return rows;
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

KeyRow key_row(const PlannedRecord& planned) {
  const PackKey& key = planned.record.key;
  KeyRow row;
  row.entry.type = static_cast<std::uint16_t>(planned.record.type);
  row.entry.flags = key.generic ? kKeyGeneric : std::uint16_t{0};
  row.entry.qnn_soc = key.qnn_soc;
  row.entry.vtcm_mb = key.vtcm_mb;
  row.entry.sdk = disk_version(key.sdk);
  row.entry.api = disk_version(key.api);
  row.entry.blob = disk_version(key.blob);
  row.group = key.group;
  row.unit = key.unit;
  row.backend = key.backend;
  row.part = key.part;
  row.arch = key.arch;
  row.features = canonical_features(key.features);
  row.variant = key.variant;
  return row;
}

RecordRow record_row(const PlannedRecord& planned, const Plan& plan, const PackOptions& options) {
  const PlannedRecord& stored = plan.records[planned.stored_as];
  const std::optional<PlannedRecipe>& recipe = stored.recipe;
  RecordRow row;
  row.name = planned.record.name;
  row.entry.record_id = planned.id;
  row.entry.type = static_cast<std::uint16_t>(planned.record.type);
  row.entry.flags = recipe ? kRecordRecipe : must_map(planned.record.type) ? kRecordMustMap : std::uint16_t{0};
  row.entry.codec = recipe ? (recipe->packed ? kCodecLz4Frame : kCodecNone) : static_cast<std::uint8_t>(planned.codec);
  row.entry.alignment_log2 = record_alignment(planned, plan, options);
  row.entry.logical_size = planned.input.size();
  row.entry.stored_size = stored.stored_size;
  row.entry.logical_hash = stored.hash.bytes;
  for (const PlannedSlice& slice : stored.slices) {
    SliceEntry entry = {};
    entry.segment = static_cast<std::uint32_t>(slice.segment);
    entry.offset_in_segment = slice.range.offset;
    entry.size = slice.range.size;
    row.slices.push_back(entry);
  }
  row.key = key_row(planned);
  return row;
}

TocRows rows_of(const Plan& plan, const PackOptions& options) {
  TocRows rows;
  for (const PlannedSegment& segment : plan.segments) rows.segments.push_back(segment_entry(segment, plan, options));
  for (const PlannedRecord& planned : plan.records) rows.records.push_back(record_row(planned, plan, options));
  rows.references = reference_rows(plan);
  return rows;
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

Result<std::uint64_t> toc_size_of(const Plan& plan, const PackOptions& options) {
  return toc_size_of(rows_of(plan, options));
}

Result<std::vector<std::byte>> build_toc(const Plan& plan, const PackOptions& options) {
  FATCTX_ASSIGN(std::vector<std::byte> toc, toc_bytes(rows_of(plan, options)));
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
