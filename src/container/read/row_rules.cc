#include "container/read/row_rules.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/names.h"
#include "fatctx/base/checked.h"

namespace fatctx::container {
namespace {

constexpr std::uint16_t kKnownRecordFlags = kRecordIgnorable | kRecordMustMap | kRecordRecipe;

// Returns whether consumers use the mapped file in place for this type: as ranges, or by offsets into it.
bool read_in_place(RecordType type) {
  return type == RecordType::kContextBinary || type == RecordType::kWeightBlob || type == RecordType::kTensorTable ||
         type == RecordType::kWrapperModel;
}

Version version(const DiskVersion& disk) {
  return {disk.major_version, disk.minor_version, disk.patch_version, disk.build_version};
}

bool features_canonical(std::string_view features) {
  std::string_view previous;
  while (!features.empty()) {
    const std::size_t comma = features.find(',');
    const std::string_view word = features.substr(0, comma);
    if (word <= previous || word.find(' ') != std::string_view::npos) return false;  // also if a word is empty
    previous = word;
    if (comma == std::string_view::npos) return true;
    features.remove_prefix(comma + 1);
    if (features.empty()) return false;  // a comma at the end
  }
  return true;
}

std::uint64_t leaf_bytes_of(std::uint8_t algorithm) {
  return algorithm == kHashXxh3 ? sizeof(DiskHash) : sizeof(DiskSha256);
}

}  // namespace

RowRules::RowRules(Toc& toc, ByteView bytes, const Header& header, int copy)
    : toc_(toc),
      bytes_(bytes),
      header_(header),
      toc_at_(header.toc_offset[static_cast<std::size_t>(copy)]),
      newer_fields_(header.has_newer_fields()) {
  const TableRange& names = table(Table::kNames);
  names_ = bytes_.subspan(static_cast<std::size_t>(names.offset), static_cast<std::size_t>(names.count));
}

Error RowRules::complaint(ErrorCode code, std::string_view rule, const Row& row, std::string_view message) const {
  return Error{code,
               fmt::format("{} {}: {}", row.table, row.index, message),
               {.file_offset = toc_at_ + row.offset, .rule = rule}};
}

Error RowRules::malformed_toc(std::string_view rule, std::uint64_t offset, std::string message) const {
  return Error{ErrorCode::kMalformed, std::move(message), {.file_offset = toc_at_ + offset, .rule = rule}};
}

bool RowRules::take_name(std::uint32_t offset, std::string_view& name) {
  const bool known = !name_state_.empty();
  if (known && (offset >= name_state_.size() || name_state_[offset] == kNoName)) return false;
  if (!known && !within({offset, sizeof(le16)}, names_.size())) return false;
  if (known && name_state_[offset] == kFreeName) name_state_[offset] = kUsedName;
  le16 size;
  std::memcpy(&size, names_.data() + offset, sizeof(size));
  if (!known && !within({std::uint64_t{offset} + sizeof(size), size}, names_.size())) return false;
  name = {reinterpret_cast<const char*>(names_.data()) + offset + sizeof(size), size};
  if (known) return true;
  return offset == 0 ? name.empty() : check_name(name, kMaxNameSize, false, "the name").ok();  // F29, F30
}

Error RowRules::no_name(std::uint32_t offset, const Row& row) const {
  return malformed("F30", row, fmt::format("no name starts at {}", offset));
}

Status RowRules::make_segment(std::uint64_t index) {
  Row row;
  const auto disk = entry<SegmentEntry>(Table::kSegments, index, row, "segment");
  FATCTX_TRY(check_segment(disk, row));
  Segment& segment = toc_.segments.make(static_cast<std::size_t>(index));
  segment.kind = static_cast<SegmentKind>(static_cast<std::uint16_t>(disk.kind));
  segment.alignment_log2 = disk.alignment_log2;
  segment.hash_algorithm = disk.hash_algorithm;
  segment.offset = disk.offset;
  segment.size = disk.size;
  segment.generation = disk.generation;
  segment.leaves_segment = disk.leaves_segment;
  segment.first_leaf = disk.first_leaf;
  segment.leaves_hash.bytes = disk.leaves_hash;
  return Done{};
}

Status RowRules::check_segment(const SegmentEntry& disk, const Row& row) const {
  if (disk.kind < static_cast<std::uint16_t>(SegmentKind::kPayload) ||
      disk.kind > static_cast<std::uint16_t>(SegmentKind::kDead)) {
    return complaint(ErrorCode::kUnsupported, "F19", row,
                     fmt::format("unknown kind {}", static_cast<std::uint16_t>(disk.kind)));
  }
  const auto kind = static_cast<SegmentKind>(static_cast<std::uint16_t>(disk.kind));
  const bool known =
      disk.hash_algorithm == kHashXxh3 || (disk.hash_algorithm == kHashSha256 && kind == SegmentKind::kLeaves);
  if (!known || disk.leaf_log2 != kLeafLog2) {
    return complaint(ErrorCode::kUnsupported, "F25", row,
                     fmt::format("hash algorithm {} with leaves of 2^{} bytes", disk.hash_algorithm, disk.leaf_log2));
  }
  if (!newer_fields_ && (!all_zero(disk.reserved0) || !all_zero(disk.reserved1))) {
    return malformed("F20", row, "reserved bytes are not zero");
  }
  if ((disk.alignment_log2 != kSmallExtentLog2 && disk.alignment_log2 != kExtentLog2 &&
       disk.alignment_log2 != kLargeExtentLog2) ||
      (disk.alignment_log2 < header_.extent_log2 && kind != SegmentKind::kDead)) {
    return malformed("F21", row, fmt::format("alignment_log2 is {}", disk.alignment_log2));
  }
  if ((disk.offset & ((std::uint64_t{1} << disk.alignment_log2) - 1)) != 0) {
    return malformed("F21", row, fmt::format("offset {:#x} is not aligned", static_cast<std::uint64_t>(disk.offset)));
  }
  if (disk.size == 0 || ((disk.size - 1) >> kLeafLog2) >= kMaxLeaves) {
    return complaint(
        ErrorCode::kLimitExceeded, "F22", row,
        fmt::format("{} bytes; allowed are 1 to {}", static_cast<std::uint64_t>(disk.size), kMaxLeaves << kLeafLog2));
  }
  if (disk.offset < header_.form().size) return malformed("F16", row, "is in the header");
  if (!within({disk.offset, disk.size}, header_.committed_end)) {
    return malformed("F16", row, "leaves the committed part of the file");
  }
  if (disk.generation == 0 || disk.generation > header_.generation) {
    return malformed("F37", row, "its generation is not one of this container's");
  }
  const bool many_leaves = (kind == SegmentKind::kPayload || kind == SegmentKind::kPacked) && disk.size > kLeafSize;
  if (!many_leaves && (disk.leaves_segment != kNoSegment || disk.first_leaf != 0)) {
    return malformed("F26", row, "a segment without payload, or of one leaf, names leaves");
  }
  if (kind == SegmentKind::kDead) {
    if (header_.sealed) return malformed("F36", row, "a DEAD segment in a sealed file");
    if (!all_zero(disk.leaves_hash)) return malformed("F20", row, "a DEAD segment carries a hash");
  }
  return Done{};
}

Status RowRules::check_segment_digest(std::uint64_t index) const {
  Row row;
  const auto disk = entry<SegmentDigest>(Table::kSegmentDigests, index, row, "digest of segment");
  const Segment& segment = toc_.segments[static_cast<std::size_t>(index)];
  if (!newer_fields_ && !all_zero(disk.reserved)) return malformed("F20", row, "reserved bytes are not zero");
  const bool has_sha = !all_zero(disk.leaves_sha256);
  if (has_sha && !segment.holds_payload()) return malformed("F44", row, "a SHA-256 of a segment without payload");
  if (!has_sha && segment.holds_payload() && header_.signature) {
    return malformed("F44", row, "without SHA-256 leaves in a signed table of contents");
  }
  const bool many_leaves = has_sha && segment.leaf_count() > 1;
  if (!many_leaves && (disk.leaves_segment != kNoSegment || disk.first_leaf != 0)) {
    return malformed("F44", row, "it names SHA-256 leaves that the segment does not have");
  }
  if (many_leaves && disk.leaves_segment == kNoSegment) {
    return malformed("F44", row, "half of the things that SHA-256 leaves need");
  }
  return Done{};
}

RowRules::LeafPlace RowRules::leaf_place(std::uint64_t index, std::uint8_t algorithm) const {
  const Segment& segment = toc_.segments[static_cast<std::size_t>(index)];
  if (!segment.holds_payload() || segment.leaf_count() == 1) return {kNoSegment, 0};
  if (algorithm == kHashXxh3) return {segment.leaves_segment, segment.first_leaf};
  if (!toc_.head.sha256) return {kNoSegment, 0};
  Row row;
  const auto digest = entry<SegmentDigest>(Table::kSegmentDigests, index, row, "digest of segment");
  return {digest.leaves_segment, digest.first_leaf};
}

Status RowRules::check_leaf_segment(std::uint64_t index, const LeafPlace& place, std::uint8_t algorithm) const {
  const Row row{"segment", index, row_at(Table::kSegments, index)};
  if (place.segment >= toc_.segments.size() || toc_.segments[place.segment].kind != SegmentKind::kLeaves ||
      toc_.segments[place.segment].hash_algorithm != algorithm) {
    return malformed("F26", row, "its leaves are not in a LEAVES segment");
  }
  return Done{};
}

Status RowRules::check_leaf_range(std::uint64_t index, const LeafPlace& place, std::uint8_t algorithm) const {
  const std::uint64_t capacity = toc_.segments[place.segment].size / leaf_bytes_of(algorithm);
  const std::uint64_t units = leaf_units(toc_.segments[static_cast<std::size_t>(index)].leaf_count());
  if (within({place.first, units}, capacity)) return Done{};
  return malformed("F26", Row{"segment", index, row_at(Table::kSegments, index)},
                   "its leaves leave the LEAVES segment");
}

Status RowRules::make_slice(std::uint64_t index) {
  Row row;
  const auto disk = entry<SliceEntry>(Table::kSlices, index, row, "slice");
  if (!newer_fields_ && !all_zero(disk.reserved)) return malformed("F20", row, "reserved bytes are not zero");
  if (disk.segment >= toc_.segments.size()) return malformed("F38", row, "there is no such segment");
  const Segment& segment = toc_.segments[disk.segment];
  if (!segment.holds_payload()) return malformed("F38", row, "its segment holds no payload");
  if (disk.size == 0 || !within({disk.offset_in_segment, disk.size}, segment.size)) {
    return malformed("F38", row, "empty, or outside its segment");
  }
  toc_.slices.make(static_cast<std::size_t>(index), {disk.segment, {disk.offset_in_segment, disk.size}});
  return Done{};
}

Status RowRules::make_record(std::uint64_t index, std::uint64_t first_slice) {
  Row row;
  const auto disk = entry<RecordEntry>(Table::kRecords, index, row, "record");
  const auto at = static_cast<std::size_t>(index);
  toc_.records.make(at);
  toc_.forms.make(at);
  auto status = fill_record(disk, row, at, first_slice);
  if (status.ok()) return status;
  Error error = std::move(status).error();
  error.where.record_id = disk.record_id;
  return error;
}

Status RowRules::fill_record(const RecordEntry& disk, const Row& row, std::size_t index, std::uint64_t first_slice) {
  if (disk.record_id == 0) return malformed("F18", row, "record id 0");
  const bool reserved_zero = (disk.flags & ~kKnownRecordFlags) == 0 && all_zero(disk.reserved0);
  if (!reserved_zero && !newer_fields_) {
    return malformed("F20", row, "reserved bits or bytes are not zero");
  }
  RecordInfo& info = toc_.records[index];  // after an error it is not used
  RecordForm& form = toc_.forms[index];
  info.id = disk.record_id;
  info.ignorable = (disk.flags & kRecordIgnorable) != 0;
  info.must_map = (disk.flags & kRecordMustMap) != 0;
  info.type = static_cast<RecordType>(static_cast<std::uint16_t>(disk.type));
  const bool known = disk.type >= static_cast<std::uint16_t>(RecordType::kContextBinary) &&
                     disk.type <= static_cast<std::uint16_t>(RecordType::kOpaque);
  if (!known && !info.ignorable) {
    return complaint(ErrorCode::kUnsupported, "F19", row,
                     fmt::format("unknown type {} that must not be ignored: update the library",
                                 static_cast<std::uint16_t>(disk.type)));
  }
  if (!take_name(disk.name, info.name)) return no_name(disk.name, row);
  if (info.name.empty()) return malformed("F29", row, "has no name");
  form.codec = disk.codec;
  form.recipe = (disk.flags & kRecordRecipe) != 0;
  info.size_bytes = disk.logical_size;
  info.stored_bytes = disk.stored_size;
  info.hash.bytes = disk.logical_hash;
  info.slice_count = disk.slice_count;
  FATCTX_TRY(check_record_sizes(disk, info, form, row));
  FATCTX_TRY(check_record_slices(disk, row, first_slice));
  if (form.recipe) FATCTX_TRY(check_recipe_slices(disk, row));
  form.first_slice = disk.first_slice;
  form.key = disk.key;
  form.link = disk.link;
  form.name = disk.name;
  if (info.slice_count != 0) {
    const Slice& first = toc_.slices[form.first_slice];
    info.file_offset = toc_.segments[first.segment].offset + first.range.offset;
  }
  if (disk.alignment_log2 >= 48 || (info.file_offset & ((std::uint64_t{1} << disk.alignment_log2) - 1)) != 0) {
    return malformed("F21", row, fmt::format("its first byte is not aligned to 2^{}", disk.alignment_log2));
  }
  info.recipe = form.recipe;
  info.codec = form.recipe ? Codec::kNone : static_cast<Codec>(form.codec);  // a recipe's codec is that of its
                                                                             // program
  info.supported = known && (form.codec == kCodecNone || form.codec == kCodecLz4Frame);
  info.key.type = info.type;
  return Done{};
}

Status RowRules::check_record_sizes(const RecordEntry& disk, const RecordInfo& info, const RecordForm& form,
                                    const Row& row) const {
  if (form.codec != kCodecNone && form.codec != kCodecLz4Frame && !info.ignorable) {
    return complaint(ErrorCode::kUnsupported, "F25", row, fmt::format("unknown codec {}", form.codec));
  }
  if (info.size_bytes > kMaxFileSize || info.stored_bytes > kMaxFileSize) {
    return complaint(ErrorCode::kLimitExceeded, "F22", row, "larger than a container may be");
  }
  if ((info.size_bytes == 0) != (disk.slice_count == 0) || (info.size_bytes == 0 && info.type != RecordType::kOpaque)) {
    return malformed("F22", row, "only an opaque record may be empty, and only an empty one has no slice");
  }
  if (form.codec == kCodecNone && !form.recipe && info.stored_bytes != info.size_bytes) {
    return malformed("F22", row, "stored and logical size differ without a codec");
  }
  if (form.codec != kCodecNone && info.must_map) return malformed("F23", row, "a record that must map has a codec");
  if (form.codec == kCodecLz4Frame && !form.recipe && read_in_place(info.type)) {
    return malformed("F23", row, fmt::format("a {} has a codec", record_type_name(info.type)));
  }
  if (form.codec != kCodecNone && !form.recipe) {
    if (info.size_bytes > kMaxColdRecordSize ||
        info.size_bytes > info.stored_bytes * kMaxExpansion + kExpansionSlack) {  // at most 2^47 x 255: cannot wrap
      return complaint(ErrorCode::kLimitExceeded, "F24", row, "it would expand too far");
    }
  }
  if (info.type == RecordType::kDescription && info.size_bytes > kMaxDescriptionSize) {
    return complaint(
        ErrorCode::kLimitExceeded, "F32", row,
        fmt::format("a description of {} bytes, at most {} are allowed", info.size_bytes, kMaxDescriptionSize));
  }
  return Done{};
}

Status RowRules::check_record_slices(const RecordEntry& disk, const Row& row, std::uint64_t first_slice) const {
  if (disk.first_slice != first_slice)
    return malformed("F15", row, "its slices do not follow those of the record before");
  if (!within({first_slice, disk.slice_count}, toc_.slices.size())) {
    return malformed("F38", row, "has more slices than there are");
  }
  const std::uint64_t granule_mask = (std::uint64_t{1} << header_.granule_log2) - 1;
  std::uint64_t sum = 0;
  for (std::uint64_t i = first_slice; i < first_slice + disk.slice_count; ++i) {
    const Slice& slice = toc_.slices[static_cast<std::size_t>(i)];
    const bool last = i + 1 == first_slice + disk.slice_count;
    if (disk.slice_count > 1 && (disk.flags & kRecordRecipe) == 0 &&
        ((slice.range.offset & granule_mask) != 0 || (!last && (slice.range.size & granule_mask) != 0))) {
      return malformed("F38", row, "a slice is not on the granule");
    }
    sum += slice.range.size;  // at most 2^18 slices of at most 2^40 bytes: cannot wrap
  }
  if (sum != disk.stored_size) return malformed("F38", row, "its slices do not add up to its stored size");
  return Done{};
}

// Checks the slices of a recipe. The program is in a packed segment, and copies read whole payload segments, so no
// copy can read a program. Each source appears once, so their order is unique and the entry alone tells which
// segments the record needs.
Status RowRules::check_recipe_slices(const RecordEntry& disk, const Row& row) const {
  if (disk.slice_count == 0) return malformed("F39", row, "a recipe without a program");
  const auto slices = std::span<const Slice>(toc_.slices).subspan(disk.first_slice, disk.slice_count);
  if (toc_.segments[slices[0].segment].kind != SegmentKind::kPacked) {
    return malformed("F39", row, "the program of its recipe is not in a packed segment");
  }
  for (std::size_t i = 1; i < slices.size(); ++i) {
    const Segment& segment = toc_.segments[slices[i].segment];
    if (segment.kind != SegmentKind::kPayload || slices[i].range != ByteRange{0, segment.size}) {
      return malformed("F39", row, fmt::format("source {} of its recipe is not a whole payload segment", i - 1));
    }
    if (i > 1 && slices[i].segment <= slices[i - 1].segment) {
      return malformed("F39", row, "the sources of its recipe are not in ascending order");
    }
  }
  return Done{};
}

Status RowRules::read_key(const KeyEntry& disk, const Row& row, SelectionKey& key) {
  struct Text {
    std::uint32_t offset;
    std::string_view& into;
  };
  const Text texts[] = {{disk.group, key.group},    {disk.unit, key.unit}, {disk.backend, key.backend},
                        {disk.part, key.part},      {disk.arch, key.arch}, {disk.features, key.features},
                        {disk.variant, key.variant}};
  for (const Text& text : texts) {
    if (!take_name(text.offset, text.into)) return no_name(text.offset, row);
  }
  key.type = static_cast<RecordType>(static_cast<std::uint16_t>(disk.type));
  key.qnn_soc = disk.qnn_soc;
  key.vtcm_mb = disk.vtcm_mb;
  key.sdk = version(disk.sdk);
  key.api = version(disk.api);
  key.blob = version(disk.blob);
  key.generic = (disk.flags & kKeyGeneric) != 0;
  if (!features_canonical(key.features)) {
    return malformed("F15", row,
                     fmt::format("features \"{}\" are not sorted, unique and without blanks", key.features));
  }
  return Done{};
}

Status RowRules::check_reference(const ReferenceEntry& disk, const Row& row) const {
  if (disk.role == 0 && (newer_fields_ || all_zero(disk.reserved))) return Done{};
  return malformed("F20", row, "role or reserved bytes are not zero");
}

Status RowRules::make_reference(const ReferenceEntry& disk, const Row& row, RecordInfo& from, const RecordInfo& to) {
  const auto kind = static_cast<ReferenceKind>(static_cast<std::uint16_t>(disk.kind));
  const bool weights = kind == ReferenceKind::kWeights && from.type == RecordType::kContextBinary;
  const bool tensors = kind == ReferenceKind::kTensorTable && from.type == RecordType::kTensorTable;
  if ((!weights && !tensors) || to.type != RecordType::kWeightBlob) {
    return complaint(
        ErrorCode::kBadReference, "F27", row,
        fmt::format("a reference of kind {} from a {} to a {} is not allowed", static_cast<std::uint16_t>(disk.kind),
                    record_type_name(from.type), record_type_name(to.type)));
  }
  if (disk.bound_hash != to.hash.bytes) {
    return complaint(ErrorCode::kBadReference, "F27", row,
                     fmt::format("it is bound to other weights than record {} \"{}\" holds", to.id, to.name));
  }
  if (weights && !all_zero(disk.table_hash)) {
    return malformed("F20", row, "the hash of a tensor table, and it refers to weights");
  }
  const auto at = static_cast<std::size_t>(row.index);
  toc_.references.make(at, {disk.from_record, disk.to_record, kind, {disk.table_hash}});
  if (!weights) return Done{};
  toc_.weight_ids.make(at, to.id);
  const std::size_t count = from.weights.size() + 1;  // references of one record are adjacent
  from.weights = {toc_.weight_ids.data() + (at + 1 - count), count};
  return Done{};
}

Status RowRules::check_record_digest(std::uint64_t index) const {
  Row row;
  const auto disk = entry<RecordDigest>(Table::kRecordDigests, index, row, "digest of record");
  if (!header_.signature || !all_zero(disk.logical_sha256)) return Done{};
  return malformed("F44", row, "without SHA-256 in a signed table of contents");
}

}  // namespace fatctx::container
