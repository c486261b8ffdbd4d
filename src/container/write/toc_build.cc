#include "container/write/toc_build.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/hash.h"
#include "container/write/toc_rows.h"

namespace fatctx::container {
namespace {

// Returns the references of records to weights; of a tensor table, `weights` names the blob it was made for.
std::vector<Row<ReferenceEntry>> reference_rows(const Plan& plan) {
  std::map<std::string_view, PresentRecord> known;
  for (const PlannedRecord& planned : plan.records) {
    known.emplace(planned.record.name, PresentRecord{planned.id, plan.records[planned.stored_as].hash});
  }
  for (const auto& [name, record] : plan.present_weights) known.emplace(name, record);
  std::vector<Row<ReferenceEntry>> rows;
  for (const PlannedRecord& planned : plan.records) {
    const auto kind =
        planned.record.type == RecordType::kTensorTable ? ReferenceKind::kTensorTable : ReferenceKind::kWeights;
    for (const std::string& weights : planned.record.weights) {
      ReferenceEntry entry = {};
      entry.from_record = planned.id;
      const PresentRecord& to = known.at(weights);
      entry.to_record = to.id;
      entry.kind = static_cast<std::uint16_t>(kind);
      entry.bound_hash = to.hash.bytes;
      entry.table_hash = planned.table_hash.bytes;
      rows.push_back(entry);
    }
  }
  return rows;
}

// Returns the index of the plan's LEAVES segment of one algorithm. Requires: it has one.
std::uint32_t leaves_index(const Plan& plan, std::uint8_t algorithm) {
  const auto found = std::find_if(plan.segments.begin(), plan.segments.end(), [&](const PlannedSegment& segment) {
    return segment.kind == SegmentKind::kLeaves && segment.hash_algorithm == algorithm;
  });
  return static_cast<std::uint32_t>(plan.present.size() + static_cast<std::size_t>(found - plan.segments.begin()));
}

SegmentRow segment_row(const PlannedSegment& segment, const Plan& plan) {
  SegmentRow row;
  const bool many_leaves = segment.kind != SegmentKind::kLeaves && segment.leaf_count() > 1;
  row.kind = static_cast<std::uint16_t>(segment.kind);
  row.alignment_log2 = plan.extent_log2;
  row.hash_algorithm = segment.hash_algorithm;
  row.leaf_log2 = static_cast<std::uint8_t>(kLeafLog2);
  row.offset = segment.offset;
  row.size = segment.size;
  row.leaves_segment = many_leaves ? leaves_index(plan, kHashXxh3) : kNoSegment;
  row.first_leaf = many_leaves ? segment.first_leaf : 0;
  row.leaves_hash = segment.leaves_hash.bytes;
  if (plan.sha256 && segment.kind != SegmentKind::kLeaves) {
    row.digest.leaves_segment = many_leaves ? leaves_index(plan, kHashSha256) : kNoSegment;
    row.digest.first_leaf = many_leaves ? segment.first_leaf : 0;
    row.digest.leaves_sha256 = segment.leaves_sha256;
  }
  return row;
}

// Returns the alignment that a reader may rely on; it is recorded, never assumed. Views of several pieces guarantee
// only pages.
std::uint8_t record_alignment(const PlannedRecord& planned, const Plan& plan, const PackOptions& options) {
  const std::vector<PlannedSlice>& slices = plan.records[planned.stored_as].slices;
  if (slices.empty()) return 0;
  if (!slices[0].in_file && plan.segments[slices[0].segment - plan.present.size()].kind == SegmentKind::kPacked) {
    return static_cast<std::uint8_t>(kSmallRecordLog2);
  }
  return slices.size() == 1 && slices[0].range.offset == 0 ? plan.extent_log2 : options.granule_log2;
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
  row.digest.logical_sha256 = stored.sha256;
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

}  // namespace

TocRows rows_of(const Plan& plan, const PackOptions& options) {
  TocRows rows;
  rows.sha256 = plan.sha256;
  for (const PlannedSegment& segment : plan.segments) rows.segments.push_back(segment_row(segment, plan));
  for (const PlannedRecord& planned : plan.records) rows.records.push_back(record_row(planned, plan, options));
  rows.references = reference_rows(plan);
  return rows;
}

Result<TocSize> toc_size_of(const Plan& plan, const PackOptions& options) {
  return toc_size_of(rows_of(plan, options));
}

Result<std::vector<std::byte>> build_toc(const Plan& plan, const PackOptions& options, std::uint64_t generation) {
  TocRows rows = rows_of(plan, options);
  rows.generation = generation;
  for (SegmentRow& segment : rows.segments) segment.generation = generation;
  FATCTX_ASSIGN(std::vector<std::byte> toc, toc_bytes(rows));
  if (toc.size() != plan.toc_size.all) {
    return Error{ErrorCode::kInternal,
                 fmt::format("the table of contents has {} bytes, {} were planned", toc.size(), plan.toc_size.all)};
  }
  return toc;
}

DiskUuid derive_uuid(ByteView toc_without_uuid, std::uint8_t extent_log2, std::uint8_t granule_log2) {
  Hasher hasher;
  hasher.update(toc_without_uuid);
  const std::array<std::byte, 2> form = {std::byte{extent_log2}, std::byte{granule_log2}};
  hasher.update(form);
  DiskUuid uuid = hasher.digest().bytes;
  uuid[6] = (uuid[6] & std::byte{0x0f}) | std::byte{0x80};  // version 8: the maker defines the other bits
  uuid[8] = (uuid[8] & std::byte{0x3f}) | std::byte{0x80};  // the RFC variant
  return uuid;
}

void put_uuid(std::vector<std::byte>& toc, const DiskUuid& uuid) {
  std::memcpy(toc.data() + offsetof(TocHeader, uuid), uuid.data(), uuid.size());
}

}  // namespace fatctx::container
