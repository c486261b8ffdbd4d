#include "runtime/inspect/extents_json.h"

#include <algorithm>

#include "container/format/crypto.h"
#include "container/read/leaves.h"
#include "container/read/stored_rows.h"
#include "fatctx/info.h"
#include "runtime/open/container_impl.h"

namespace fatctx {
namespace {

using container::SegmentKind;

std::string_view kind_of(const container::Segment& segment) {
  switch (segment.kind) {
    case SegmentKind::kPayload:
      return "payload";
    case SegmentKind::kPacked:
      return "packed";
    case SegmentKind::kLeaves:
      return segment.hash_algorithm == container::kHashSha256 ? "sha256 leaves" : "leaves";
    case SegmentKind::kDead:
      break;
  }
  return "dead";
}

// Returns the ids of the records that use each segment, ascending.
std::vector<std::vector<std::uint32_t>> users_of(const container::Toc& toc) {
  std::vector<std::vector<std::uint32_t>> users(toc.segments.size());
  for (const RecordInfo& record : toc.records) {
    const std::uint32_t first = toc.forms[toc.index_of(record)].first_slice;
    for (std::uint32_t i = first; i < first + record.slice_count; ++i) {
      std::vector<std::uint32_t>& ids = users[toc.slices[i].segment];
      if (ids.empty() || ids.back() != record.id) ids.push_back(record.id);
    }
  }
  return users;
}

FileExtent extent_of(const container::Toc& toc, std::size_t index) {
  const container::Segment& segment = toc.segments[index];
  FileExtent extent{.kind = kind_of(segment),
                    .range = {segment.offset, segment.size},
                    .segment = static_cast<std::uint32_t>(index),
                    .generation = segment.generation};
  if (!segment.holds_payload()) return extent;
  extent.leaf_count = segment.leaf_count();
  extent.leaves_hash = segment.leaves_hash;
  if (extent.leaf_count > 1) extent.leaves_offset = container::offset_of_leaves(toc, segment);
  const container::SegmentDigest digest = container::StoredRows(toc).segment_digest(index);
  if (container::all_zero(digest.leaves_sha256)) return extent;
  extent.leaves_sha256 = to_hex(digest.leaves_sha256);
  if (extent.leaf_count > 1) extent.sha256_leaves_offset = container::offset_of_leaves(toc, digest);
  return extent;
}

Json leaves_json(const FileExtent& extent) {
  if (extent.leaf_count == 0) return nullptr;
  return {{"count", extent.leaf_count},
          {"offset", extent.leaves_offset},
          {"xxh3_128", to_hex(extent.leaves_hash.bytes)},
          {"sha256_offset", extent.sha256_leaves_offset},
          {"sha256", extent.leaves_sha256.empty() ? Json(nullptr) : Json(extent.leaves_sha256)}};
}

}  // namespace

Result<std::vector<FileExtent>> file_extents(const Container& container) {
  FATCTX_TRY(mapped_of(container)->need_all());
  const MappedContainer& mapped = *mapped_of(container);
  const container::Header& header = mapped.header();
  const container::Toc& toc = mapped.toc();
  const std::vector<std::vector<std::uint32_t>> users = users_of(toc);
  std::vector<FileExtent> extents = {{.kind = "header", .range = {0, header.form().size}},
                                     {.kind = "toc copy 0", .range = {header.toc_offset[0], header.toc_size}},
                                     {.kind = "toc copy 1", .range = {header.toc_offset[1], header.toc_size}}};
  for (std::size_t i = 0; i < toc.segments.size(); ++i) {
    extents.push_back(extent_of(toc, i));
    extents.back().records = users[i];
  }
  std::sort(extents.begin(), extents.end(),
            [](const FileExtent& a, const FileExtent& b) { return a.range.offset < b.range.offset; });
  return extents;
}

Result<Json> extents_json(const Container& container, const std::vector<ByteRange>& absent) {
  Json extents = Json::array();
  FATCTX_ASSIGN(const std::vector<FileExtent> found, file_extents(container));
  for (const FileExtent& extent : found) {
    extents.push_back({{"kind", extent.kind},
                       {"offset", extent.range.offset},
                       {"size", extent.range.size},
                       {"segment", extent.segment},
                       {"generation", extent.generation},
                       {"records", extent.records},
                       {"leaves", leaves_json(extent)}});
  }
  const container::Toc& toc = mapped_of(container)->toc();
  Json records = Json::array();
  for (const RecordInfo& record : toc.records) {
    Json slices = Json::array();
    const std::uint32_t first = toc.forms[toc.index_of(record)].first_slice;
    for (std::uint32_t i = first; i < first + record.slice_count; ++i) {
      const ByteRange range = toc.in_file(toc.slices[i]);
      slices.push_back({{"segment", toc.slices[i].segment}, {"offset", range.offset}, {"size", range.size}});
    }
    records.push_back({{"record", record.id}, {"slices", std::move(slices)}});
  }
  Json ranges = Json::array();
  for (const ByteRange& range : absent) ranges.push_back({{"offset", range.offset}, {"size", range.size}});
  return Json({{"leaf_size", container::kLeafSize},
               {"leaves_per_page", container::kLeavesPerPage},
               {"extents", std::move(extents)},
               {"records", std::move(records)},
               {"absent", std::move(ranges)}});
}

}  // namespace fatctx
