// Parses the table of contents. The bytes match their hash, but their author may be an attacker.
//
// Makes one pass over each table, in file order. A later table may rely on every rule of the earlier ones. Redundant
// fields are compared. Counts are bounded by the bytes of the table before anything is allocated. Each message names
// the row; offsets are those of the TOC copy that was read.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/hash.h"
#include "container/format/names.h"
#include "container/read/parse.h"
#include "container/read/toc_head.h"
#include "fatctx/base/checked.h"

namespace fatctx::container {
namespace {

constexpr std::uint16_t kKnownRecordFlags = kRecordIgnorable | kRecordMustMap | kRecordRecipe;

class Parser {
 public:
  Parser(Toc& toc, const Header& header, int copy)
      : toc_(toc),
        header_(header),
        copy_(copy),
        toc_at_(header.toc_offset[static_cast<std::size_t>(copy)]),
        newer_fields_(header.has_newer_fields()) {}

  Status run() {
    const ByteView all(toc_.bytes);
    if (all.size() != header_.toc_size || header_.toc_head_size >= all.size()) {
      return malformed_toc("F12", all.size(), "the table of contents has another size than its slot says");
    }
    FATCTX_ASSIGN(head_, parse_toc_head(all.first(static_cast<std::size_t>(header_.toc_head_size)), header_, copy_));
    FATCTX_TRY(parse_names());
    FATCTX_TRY(parse_segments());
    FATCTX_TRY(check_extents());
    FATCTX_TRY(check_leaves());
    FATCTX_TRY(parse_slices());
    FATCTX_TRY(parse_records());
    FATCTX_TRY(parse_keys());
    FATCTX_TRY(parse_references());
    FATCTX_TRY(parse_generations());
    FATCTX_TRY(check_record_digests());
    FATCTX_TRY(check_name_index());
    return check_names_used();
  }

 private:
  // The row that is being checked, for messages.
  struct Row {
    std::string_view table;
    std::uint64_t index;
    std::uint64_t offset;  // in the TOC
  };

  Error complaint(ErrorCode code, std::string_view rule, const Row& row, std::string_view message) const {
    return Error{code,
                 fmt::format("{} {}: {}", row.table, row.index, message),
                 {.file_offset = toc_at_ + row.offset, .rule = rule}};
  }
  Error malformed(std::string_view rule, const Row& row, std::string_view message) const {
    return complaint(ErrorCode::kMalformed, rule, row, message);
  }
  Error malformed_toc(std::string_view rule, std::uint64_t offset, std::string message) const {
    return Error{ErrorCode::kMalformed, std::move(message), {.file_offset = toc_at_ + offset, .rule = rule}};
  }

  [[nodiscard]] const TableRange& table(Table which) const { return head_.table(which); }

  // Returns where a row starts in the TOC. Requires: index <= the table's count.
  [[nodiscard]] std::uint64_t row_at(Table which, std::uint64_t index) const {
    return table(which).offset + index * table(which).entry_size;  // inside the TOC: parse_toc_head checked
  }

  template <typename T>
  T entry(Table which, std::uint64_t index, Row& row, std::string_view name) const {
    const std::uint64_t offset = row_at(which, index);
    row = Row{name, index, offset};
    T copy;
    std::memcpy(&copy, toc_.bytes.data() + offset, sizeof(T));
    return copy;
  }

  // Parses names: { le16 size, bytes }, concatenated. The first is the empty string, so that offset 0 means "none".
  Status parse_names() {
    const TableRange range = table(Table::kNames);
    names_ =
        ByteView(toc_.bytes).subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.count));
    name_state_.assign(names_.size(), kNoName);
    std::string_view previous;
    std::uint64_t at = 0;
    std::uint64_t index = 0;
    while (at < names_.size()) {
      const Row row{"name", index, range.offset + at};
      const auto size = copy_out<le16>(names_, at);
      if (!size.ok() || !within({at + sizeof(le16), size.value()}, names_.size())) {
        return malformed("F30", row, "leaves the names region");
      }
      const auto* text = reinterpret_cast<const char*>(names_.data()) + at + sizeof(le16);  // bytes as characters
      const std::string_view name(text, size.value());
      if (index == 0 ? !name.empty() : name <= previous) {
        return malformed("F30", row, index == 0 ? "the first name is not the empty string" : "not in ascending order");
      }
      if (index != 0) {
        auto status = check_name(name, kMaxNameSize, false, "the name");
        if (!status.ok()) return malformed("F29", row, status.error().message);
      }
      name_state_[at] = index == 0 ? kUsedName : kFreeName;
      previous = name;
      at += sizeof(le16) + name.size();
      ++index;
    }
    if (index == 0) return malformed_toc("F30", range.offset, "the names region is empty");
    return Done{};
  }

  // Returns false if no name starts there. Writes the result in place: returning it in a Result would cost more than
  // the lookup, several times for each record.
  bool take_name(std::uint32_t offset, std::string_view& name) {
    if (offset >= name_state_.size() || name_state_[offset] == kNoName) return false;
    if (name_state_[offset] == kFreeName) name_state_[offset] = kUsedName;
    le16 size;
    std::memcpy(&size, names_.data() + offset, sizeof(size));
    name = {reinterpret_cast<const char*>(names_.data()) + offset + sizeof(size), size};
    return true;
  }
  Error no_name(std::uint32_t offset, const Row& row) const {
    return malformed("F30", row, fmt::format("no name starts at {}", offset));
  }

  Status parse_segments() {
    const std::uint64_t count = table(Table::kSegments).count;
    toc_.segments.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) {
      Row row{};
      const auto disk = entry<SegmentEntry>(Table::kSegments, i, row, "segment");
      FATCTX_TRY(check_segment(disk, row));
      if (!toc_.segments.empty() && disk.offset <= toc_.segments.back().offset) {
        return malformed("F15", row, "segments are not in ascending order");
      }
      Segment& segment = toc_.segments.emplace_back();
      segment.kind = static_cast<SegmentKind>(static_cast<std::uint16_t>(disk.kind));
      segment.alignment_log2 = disk.alignment_log2;
      segment.hash_algorithm = disk.hash_algorithm;
      segment.offset = disk.offset;
      segment.size = disk.size;
      segment.generation = disk.generation;
      segment.leaves_segment = disk.leaves_segment;
      segment.first_leaf = disk.first_leaf;
      segment.leaves_hash.bytes = disk.leaves_hash;
    }
    return Done{};
  }

  Status check_segment(const SegmentEntry& disk, const Row& row) const {
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

  // Checks that segments and both TOC copies tile the file from the header to committed_end.
  Status check_extents() const {
    struct Extent {
      std::uint64_t offset;
      std::uint64_t size;
      unsigned alignment_log2;
      std::uint64_t row_offset;
    };
    std::vector<Extent> extents;
    extents.reserve(toc_.segments.size() + header_.toc_offset.size());
    for (std::size_t i = 0; i < toc_.segments.size(); ++i) {
      const Segment& segment = toc_.segments[i];
      extents.push_back({segment.offset, segment.size, segment.alignment_log2, row_at(Table::kSegments, i)});
    }
    for (const std::uint64_t offset : header_.toc_offset) {
      const Extent toc{offset, header_.toc_size, header_.form().unit_log2, 0};
      extents.insert(std::upper_bound(extents.begin(), extents.end(), toc,
                                      [](const Extent& x, const Extent& y) { return x.offset < y.offset; }),
                     toc);
    }
    std::uint64_t end = header_.form().size;
    for (const Extent& extent : extents) {
      if (extent.offset < end) {
        return malformed_toc("F16", extent.row_offset,
                             fmt::format("the extent at {:#x} overlaps the one before it", extent.offset));
      }
      const auto expected = checked_align_up(end, extent.alignment_log2);
      if (!expected || extent.offset != *expected) {
        return malformed_toc("F17", extent.row_offset,
                             fmt::format("the extent at {:#x} is not where the one before it ends", extent.offset));
      }
      end = extent.offset + extent.size;  // both inside committed_end: cannot wrap
    }
    if (end != header_.committed_end) {
      return malformed_toc(
          "F17", 0, fmt::format("the last extent ends at {:#x}, committed_end is {:#x}", end, header_.committed_end));
    }
    return Done{};
  }

  // The position of a segment's leaf range; `segment` is kNoSegment if it has none of that algorithm.
  struct LeafPlace {
    std::uint32_t segment;
    std::uint64_t first;
  };
  [[nodiscard]] SegmentDigest segment_digest(std::size_t index) const {
    Row row{};
    return entry<SegmentDigest>(Table::kSegmentDigests, index, row, "digest of segment");
  }
  [[nodiscard]] LeafPlace leaf_place(std::size_t index, std::uint8_t algorithm) const {
    if (algorithm == kHashXxh3) return {toc_.segments[index].leaves_segment, toc_.segments[index].first_leaf};
    const SegmentDigest digest = segment_digest(index);
    return {digest.leaves_segment, digest.first_leaf};
  }

  Status check_segment_digests() const {
    if (!head_.sha256) return Done{};
    for (std::size_t i = 0; i < toc_.segments.size(); ++i) {
      Row row{};
      const auto disk = entry<SegmentDigest>(Table::kSegmentDigests, i, row, "digest of segment");
      const Segment& segment = toc_.segments[i];
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
    }
    return Done{};
  }

  Status check_leaves() const {
    FATCTX_TRY(check_segment_digests());
    FATCTX_TRY(check_leaves_of(kHashXxh3, sizeof(DiskHash)));
    return check_leaves_of(kHashSha256, sizeof(DiskSha256));
  }

  Status check_leaves_of(std::uint8_t algorithm, std::uint64_t leaf_bytes) const {
    const bool any_dead = std::any_of(toc_.segments.begin(), toc_.segments.end(),
                                      [](const Segment& s) { return s.kind == SegmentKind::kDead; });
    std::vector<std::uint64_t> used(toc_.segments.size(), 0);  // hashes that are assigned, by LEAVES segment
    for (std::size_t i = 0; i < toc_.segments.size(); ++i) {
      const Segment& segment = toc_.segments[i];
      if (!segment.holds_payload() || segment.leaf_count() == 1) continue;
      if (algorithm == kHashSha256 && !head_.sha256) continue;
      const LeafPlace place = leaf_place(i, algorithm);
      if (algorithm == kHashSha256 && place.segment == kNoSegment) continue;
      const Row row{"segment", i, row_at(Table::kSegments, i)};
      if (place.segment >= toc_.segments.size() || toc_.segments[place.segment].kind != SegmentKind::kLeaves ||
          toc_.segments[place.segment].hash_algorithm != algorithm) {
        return malformed("F26", row, "its leaves are not in a LEAVES segment");
      }
      const std::uint64_t capacity = toc_.segments[place.segment].size / leaf_bytes;
      std::uint64_t& next = used[place.segment];
      // Leaves of DEAD segments keep their place, so gaps are legal as soon as there is a DEAD segment.
      if (any_dead ? place.first < next : place.first != next) {
        return malformed("F26", row, fmt::format("its leaves start at {} instead of {}", place.first, next));
      }
      const std::uint64_t units = leaf_units(segment.leaf_count());
      if (!within({place.first, units}, capacity)) {
        return malformed("F26", row, "its leaves leave the LEAVES segment");
      }
      next = place.first + units;
    }
    for (std::size_t i = 0; i < toc_.segments.size(); ++i) {
      const Segment& segment = toc_.segments[i];
      if (segment.kind != SegmentKind::kLeaves || segment.hash_algorithm != algorithm) continue;
      if (segment.size % leaf_bytes != 0 || (!any_dead && used[i] != segment.size / leaf_bytes)) {
        return malformed("F26", Row{"segment", i, row_at(Table::kSegments, i)},
                         "a LEAVES segment of another size than its leaves");
      }
    }
    return Done{};
  }

  Status parse_slices() {
    const std::uint64_t count = table(Table::kSlices).count;
    toc_.slices.reserve(static_cast<std::size_t>(count));
    segment_used_.assign(toc_.segments.size(), 0);
    for (std::uint64_t i = 0; i < count; ++i) {
      Row row{};
      const auto disk = entry<SliceEntry>(Table::kSlices, i, row, "slice");
      if (!newer_fields_ && !all_zero(disk.reserved)) return malformed("F20", row, "reserved bytes are not zero");
      if (disk.segment >= toc_.segments.size()) return malformed("F38", row, "there is no such segment");
      const Segment& segment = toc_.segments[disk.segment];
      if (segment.kind != SegmentKind::kPayload && segment.kind != SegmentKind::kPacked) {
        return malformed("F38", row, "its segment holds no payload");
      }
      if (disk.size == 0 || !within({disk.offset_in_segment, disk.size}, segment.size)) {
        return malformed("F38", row, "empty, or outside its segment");
      }
      segment_used_[disk.segment] = 1;
      toc_.slices.push_back({disk.segment, {disk.offset_in_segment, disk.size}});
    }
    for (std::size_t i = 0; i < toc_.segments.size(); ++i) {
      const SegmentKind kind = toc_.segments[i].kind;
      if ((kind == SegmentKind::kPayload || kind == SegmentKind::kPacked) && segment_used_[i] == 0) {
        return malformed("F38", Row{"segment", i, row_at(Table::kSegments, i)}, "no record uses it");
      }
    }
    return Done{};
  }

  Status parse_records() {
    const std::uint64_t count = table(Table::kRecords).count;
    toc_.records.reserve(static_cast<std::size_t>(count));
    toc_.forms.reserve(static_cast<std::size_t>(count));
    const RecordInfo blank;
    std::uint64_t next_slice = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      Row row{};
      const auto disk = entry<RecordEntry>(Table::kRecords, i, row, "record");
      toc_.records.push_back(blank);  // a copy costs less than constructing one, and is filled while in the cache
      toc_.forms.emplace_back();
      auto status = parse_record(disk, row, static_cast<std::size_t>(i), next_slice);
      if (!status.ok()) {
        Error error = std::move(status).error();
        error.where.record_id = disk.record_id;
        return error;
      }
      next_slice += disk.slice_count;
    }
    if (next_slice != toc_.slices.size()) {
      return malformed("F15", Row{"slice", next_slice, row_at(Table::kSlices, next_slice)}, "belongs to no record");
    }
    return Done{};
  }

  Status parse_record(const RecordEntry& disk, const Row& row, std::size_t index, std::uint64_t next_slice) {
    if (disk.record_id == 0) return malformed("F18", row, "record id 0");
    if (index != 0 && disk.record_id <= toc_.records[index - 1].id) {
      const bool same = disk.record_id == toc_.records[index - 1].id;
      return malformed(same ? "F18" : "F15", row, same ? "record id used twice" : "records are not in ascending order");
    }
    const bool reserved_zero = (disk.flags & ~kKnownRecordFlags) == 0 && all_zero(disk.reserved0);
    if (!reserved_zero && !newer_fields_) {
      return malformed("F20", row, "reserved bits or bytes are not zero");
    }
    RecordInfo& info = toc_.records[index];  // after an error the whole table is dropped
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
    FATCTX_TRY(check_record_slices(disk, row, next_slice));
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
    if (info.type == RecordType::kDescription) ++descriptions_;
    if (info.type == RecordType::kTensorTable) ++tensor_tables_;
    return Done{};
  }

  Status check_record_sizes(const RecordEntry& disk, const RecordInfo& info, const RecordForm& form,
                            const Row& row) const {
    if (form.codec != kCodecNone && form.codec != kCodecLz4Frame && !info.ignorable) {
      return complaint(ErrorCode::kUnsupported, "F25", row, fmt::format("unknown codec {}", form.codec));
    }
    if (info.size_bytes > kMaxFileSize || info.stored_bytes > kMaxFileSize) {
      return complaint(ErrorCode::kLimitExceeded, "F22", row, "larger than a container may be");
    }
    if ((info.size_bytes == 0) != (disk.slice_count == 0) ||
        (info.size_bytes == 0 && info.type != RecordType::kOpaque)) {
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

  // Returns whether consumers use the mapped file in place for this type: as ranges, or by offsets into it.
  static bool read_in_place(RecordType type) {
    return type == RecordType::kContextBinary || type == RecordType::kWeightBlob || type == RecordType::kTensorTable ||
           type == RecordType::kWrapperModel;
  }

  Status check_record_slices(const RecordEntry& disk, const Row& row, std::uint64_t next_slice) const {
    if (disk.first_slice != next_slice)
      return malformed("F15", row, "its slices do not follow those of the record before");
    if (!within({next_slice, disk.slice_count}, toc_.slices.size())) {
      return malformed("F38", row, "has more slices than there are");
    }
    const std::uint64_t granule_mask = (std::uint64_t{1} << header_.granule_log2) - 1;
    std::uint64_t sum = 0;
    for (std::uint64_t i = next_slice; i < next_slice + disk.slice_count; ++i) {
      const Slice& slice = toc_.slices[static_cast<std::size_t>(i)];
      const bool last = i + 1 == next_slice + disk.slice_count;
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
  Status check_recipe_slices(const RecordEntry& disk, const Row& row) const {
    if (disk.slice_count == 0) return malformed("F39", row, "a recipe without a program");
    const auto slices = std::span(toc_.slices).subspan(disk.first_slice, disk.slice_count);
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

  Status parse_keys() {
    const std::uint64_t count = table(Table::kKeys).count;
    std::vector<std::uint8_t> keyed(toc_.records.size(), 0);
    std::vector<std::uint32_t> keys(toc_.records.size(), kNoRow);  // what F45 wants in the records' rows
    std::uint64_t keyed_descriptions = 0;
    const SelectionKey* previous = nullptr;
    for (std::uint64_t i = 0; i < count; ++i) {
      Row row{};
      const auto disk = entry<KeyEntry>(Table::kKeys, i, row, "key");
      if (!newer_fields_ && (disk.flags & ~kKeyGeneric) != 0) {
        return malformed("F20", row, "reserved bits are not zero");
      }
      const RecordInfo* found = toc_.find(disk.record_id);
      if (found == nullptr) return malformed("F37", row, "there is no such record");
      if (static_cast<std::uint16_t>(found->type) != disk.type) {
        return malformed("F37", row, "key and record disagree about the type");
      }
      RecordInfo& record = toc_.records[toc_.index_of(*found)];
      if (keyed[toc_.index_of(record)]++ != 0) return malformed("F28", row, "a second key for one record");
      keys[toc_.index_of(record)] = static_cast<std::uint32_t>(i);
      FATCTX_TRY(read_key(disk, row, record.key));
      if (previous != nullptr) {
        const auto order = compare_stored_keys(*previous, record.key);
        if (order == 0) return malformed("F28", row, "the full selection key appears twice");
        if (order > 0) return malformed("F15", row, "keys are not in ascending order");
      }
      previous = &record.key;
      const auto name_offset = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(record.name.data()) -
                                                        names_.data() - std::ptrdiff_t{sizeof(le16)});
      if (name_state_[name_offset] == kRecordName) {
        return malformed("F28", row, fmt::format("two records are named \"{}\"", record.name));
      }
      name_state_[name_offset] = kRecordName;
      if (record.type == RecordType::kDescription) ++keyed_descriptions;
    }
    if (descriptions_ != 1 || keyed_descriptions != 1) {
      return malformed_toc("F31", table(Table::kKeys).offset,
                           fmt::format("{} description records, {} of them with a key, instead of one with a key",
                                       descriptions_, keyed_descriptions));
    }
    for (std::size_t i = 0; i < toc_.records.size(); ++i) {
      if (toc_.forms[i].key != keys[i]) {
        return malformed("F45", Row{"record", i, row_at(Table::kRecords, i)}, "names another key than its own");
      }
    }
    return Done{};
  }

  static Version version(const DiskVersion& disk) {
    return {disk.major_version, disk.minor_version, disk.patch_version, disk.build_version};
  }

  Status read_key(const KeyEntry& disk, const Row& row, SelectionKey& key) {
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

  // Compares like compare_keys(). All strings of the keys must be in one names region: it is sorted and holds each name
  // once (F30), so names compare like their addresses.
  static std::strong_ordering compare_stored_keys(const SelectionKey& a, const SelectionKey& b) {
    if (const auto order = a.type <=> b.type; order != 0) return order;
    if (const auto order = a.group.data() <=> b.group.data(); order != 0) return order;
    if (const auto order = a.unit.data() <=> b.unit.data(); order != 0) return order;
    if (const auto order = a.backend.data() <=> b.backend.data(); order != 0) return order;
    if (const auto order = a.qnn_soc <=> b.qnn_soc; order != 0) return order;
    if (const auto order = a.part.data() <=> b.part.data(); order != 0) return order;
    if (const auto order = a.arch.data() <=> b.arch.data(); order != 0) return order;
    if (const auto order = a.features.data() <=> b.features.data(); order != 0) return order;
    if (const auto order = a.vtcm_mb <=> b.vtcm_mb; order != 0) return order;
    if (const auto order = a.sdk <=> b.sdk; order != 0) return order;
    return a.variant.data() <=> b.variant.data();
  }

  static bool features_canonical(std::string_view features) {
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

  Status parse_references() {
    const std::uint64_t count = table(Table::kReferences).count;
    toc_.references.reserve(static_cast<std::size_t>(count));
    toc_.weight_ids.reserve(static_cast<std::size_t>(count));     // must not reallocate: spans into it exist while it
                                                                  // fills
    std::vector<std::uint8_t> described(toc_.records.size(), 0);  // tensor tables whose blob is known
    std::uint64_t described_tables = 0;
    std::vector<std::uint32_t> links(toc_.records.size(), kNoRow);  // what F45 wants in the records' rows
    std::optional<ReferenceEntry> previous;
    for (std::uint64_t i = 0; i < count; ++i) {
      Row row{};
      const auto disk = entry<ReferenceEntry>(Table::kReferences, i, row, "reference");
      if (disk.role != 0 || (!newer_fields_ && !all_zero(disk.reserved))) {
        return malformed("F20", row, "role or reserved bytes are not zero");
      }
      if (previous && !before(*previous, disk)) return malformed("F15", row, "references are not in ascending order");
      previous = disk;
      const RecordInfo* from = toc_.find(disk.from_record);
      const RecordInfo* to = toc_.find(disk.to_record);
      if (from == nullptr || to == nullptr) {
        return complaint(ErrorCode::kBadReference, "F27", row, "one of its records does not exist");
      }
      const auto kind = static_cast<ReferenceKind>(static_cast<std::uint16_t>(disk.kind));
      const bool weights = kind == ReferenceKind::kWeights && from->type == RecordType::kContextBinary;
      const bool tensors = kind == ReferenceKind::kTensorTable && from->type == RecordType::kTensorTable;
      if ((!weights && !tensors) || to->type != RecordType::kWeightBlob) {
        return complaint(ErrorCode::kBadReference, "F27", row,
                         fmt::format("a reference of kind {} from a {} to a {} is not allowed",
                                     static_cast<std::uint16_t>(disk.kind), record_type_name(from->type),
                                     record_type_name(to->type)));
      }
      if (disk.bound_hash != to->hash.bytes) {
        return complaint(ErrorCode::kBadReference, "F27", row,
                         fmt::format("it is bound to other weights than record {} \"{}\" holds", to->id, to->name));
      }
      if (weights && !all_zero(disk.table_hash)) {
        return malformed("F20", row, "the hash of a tensor table, and it refers to weights");
      }
      if (weights) add_weights(toc_.records[toc_.index_of(*from)], to->id);
      if (tensors) {
        if (described[toc_.index_of(*from)]++ != 0) {
          return complaint(ErrorCode::kBadReference, "F27", row, "a tensor table describes two blobs");
        }
        ++described_tables;
        std::uint32_t& table_of_blob = links[toc_.index_of(*to)];
        if (table_of_blob != kNoRow) {
          return complaint(ErrorCode::kBadReference, "F27", row, "two tensor tables describe one blob");
        }
        table_of_blob = static_cast<std::uint32_t>(toc_.index_of(*from));
      }
      std::uint32_t& first = links[toc_.index_of(*from)];
      if (first == kNoRow) first = static_cast<std::uint32_t>(i);
      toc_.references.push_back({disk.from_record, disk.to_record, kind, {disk.table_hash}});
    }
    for (std::size_t i = 0; i < toc_.records.size(); ++i) {
      if (toc_.forms[i].link != links[i]) {
        return malformed("F45", Row{"record", i, row_at(Table::kRecords, i)},
                         "links another reference or tensor table than its own");
      }
    }
    if (described_tables == tensor_tables_) return Done{};
    for (std::size_t i = 0; i < toc_.records.size(); ++i) {
      if (toc_.records[i].type == RecordType::kTensorTable && described[i] == 0) {
        return complaint(ErrorCode::kBadReference, "F27", Row{"record", i, row_at(Table::kRecords, i)},
                         "a tensor table that describes no weight blob");
      }
    }
    return Done{};
  }

  // Appends to the record's list. References are in ascending order (F15), so those of one record are adjacent.
  void add_weights(RecordInfo& record, std::uint32_t id) {
    toc_.weight_ids.push_back(id);
    const std::size_t count = record.weights.size() + 1;
    record.weights = std::span(toc_.weight_ids).last(count);
  }

  static bool before(const ReferenceEntry& a, const ReferenceEntry& b) {
    const auto tuple = [](const ReferenceEntry& r) {
      return std::array<std::uint32_t, 4>{r.from_record, r.kind, r.role, r.to_record};
    };
    return tuple(a) < tuple(b);
  }

  Status parse_generations() {
    std::uint64_t previous = 0;
    toc_.generations.reserve(static_cast<std::size_t>(table(Table::kGenerations).count));
    for (std::uint64_t i = 0; i < table(Table::kGenerations).count; ++i) {
      Row row{};
      const auto disk = entry<GenerationEntry>(Table::kGenerations, i, row, "generation");
      if (disk.number <= previous || disk.number >= header_.generation) {
        return malformed("F15", row, "generations are not ascending and earlier than the present one");
      }
      previous = disk.number;
      if (disk.committed_end > header_.committed_end || disk.toc_size > kMaxTocSize ||
          disk.toc_offset < header_.form().size || !within({disk.toc_offset, disk.toc_size}, disk.committed_end) ||
          disk.toc_head_size <= kPageHashesStart || disk.toc_head_size >= disk.toc_size) {
        return malformed("F11", row, "its table of contents is out of place");
      }
      toc_.generations.push_back(
          {disk.number, disk.toc_offset, disk.toc_size, disk.toc_head_size, disk.committed_end, {disk.toc_hash}});
    }
    return Done{};
  }

  Status check_record_digests() const {
    for (std::uint64_t i = 0; i < table(Table::kRecordDigests).count; ++i) {
      Row row{};
      const auto disk = entry<RecordDigest>(Table::kRecordDigests, i, row, "digest of record");
      if (header_.signature && all_zero(disk.logical_sha256)) {
        return malformed("F44", row, "without SHA-256 in a signed table of contents");
      }
    }
    return Done{};
  }

  Status check_name_index() const {
    std::uint64_t previous = 0;
    for (std::uint64_t i = 0; i < table(Table::kNameIndex).count; ++i) {
      Row row{};
      const auto disk = entry<NameIndexEntry>(Table::kNameIndex, i, row, "name index");
      if (disk.record >= toc_.records.size() || name_hash(toc_.records[disk.record].name) != disk.hash) {
        return malformed("F45", row, "no record whose name has this hash");
      }
      // In order and each row once; there are as many rows as records, so every record has one.
      const std::uint64_t place = (std::uint64_t{disk.hash} << 32) | disk.record;
      if (i != 0 && place <= previous) return malformed("F45", row, "not in ascending order");
      previous = place;
    }
    return Done{};
  }

  // A field that only a newer writer may change may hold a name.
  Status check_names_used() const {
    if (header_.unknown_ro_compat != 0) return Done{};
    const auto unused = std::find(name_state_.begin(), name_state_.end(), kFreeName);
    if (unused == name_state_.end()) return Done{};
    const auto at = static_cast<std::uint64_t>(unused - name_state_.begin());
    return malformed_toc("F30", table(Table::kNames).offset + at, "a name that nothing refers to");
  }

  enum NameState : std::uint8_t { kNoName, kFreeName, kUsedName, kRecordName };

  Toc& toc_;
  const Header& header_;
  const int copy_;
  std::uint64_t toc_at_;
  const bool newer_fields_;  // then reserved bytes and bits are not judged
  TocHead head_;
  ByteView names_;
  std::vector<std::uint8_t> name_state_;  // for each byte of the names region, what starts there
  std::vector<std::uint8_t> segment_used_;
  std::uint64_t descriptions_ = 0;  // number of records of these types
  std::uint64_t tensor_tables_ = 0;
};

}  // namespace

const RecordInfo* Toc::find(std::uint32_t id) const noexcept {
  // Tries the position first: a packed file numbers its records from 1 without gaps.
  const std::size_t guess = std::size_t{id} - 1;
  if (guess < records.size() && records[guess].id == id) return &records[guess];
  const auto found =
      std::lower_bound(records.begin(), records.end(), id,
                       [](const RecordInfo& record, std::uint32_t wanted) { return record.id < wanted; });
  return found != records.end() && found->id == id ? &*found : nullptr;
}

std::uint64_t Toc::dead_bytes() const noexcept {
  std::uint64_t dead = 0;
  for (const Segment& segment : segments) {
    if (segment.kind == SegmentKind::kDead) dead += segment.size;
  }
  return dead;
}

Result<Toc> parse_toc(std::vector<std::byte> bytes, const Header& header, int copy) {
  Toc toc;
  toc.bytes = std::move(bytes);
  toc.newer_fields = header.has_newer_fields();
  FATCTX_TRY(Parser(toc, header, copy).run());
  return toc;
}

}  // namespace fatctx::container
