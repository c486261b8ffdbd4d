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
#include "container/read/row_rules.h"
#include "container/read/toc_head.h"
#include "fatctx/base/checked.h"

namespace fatctx::container {
namespace {

class Parser : private RowRules {
 public:
  // Requires: toc.head is that of the bytes.
  Parser(Toc& toc, ByteView bytes, const Header& header, int copy) : RowRules(toc, bytes, header, copy) {}

  Status run() {
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
  // Parses names: { le16 size, bytes }, concatenated. The first is the empty string, so that offset 0 means "none".
  Status parse_names() {
    const TableRange range = table(Table::kNames);
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

  Status parse_segments() {
    for (std::size_t i = 0; i < toc_.segments.size(); ++i) {
      FATCTX_TRY(make_segment(i));
      if (i != 0 && toc_.segments[i].offset <= toc_.segments[i - 1].offset) {
        return malformed("F15", Row{"segment", i, row_at(Table::kSegments, i)}, "segments are not in ascending order");
      }
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

  Status check_leaves() const {
    for (std::size_t i = 0; toc_.head.sha256 && i < toc_.segments.size(); ++i) FATCTX_TRY(check_segment_digest(i));
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
      const LeafPlace place = leaf_place(i, algorithm);
      if (algorithm == kHashSha256 && place.segment == kNoSegment) continue;
      FATCTX_TRY(check_leaf_segment(i, place, algorithm));
      std::uint64_t& next = used[place.segment];
      // Leaves of DEAD segments keep their place, so gaps are legal as soon as there is a DEAD segment.
      if (any_dead ? place.first < next : place.first != next) {
        return malformed("F26", Row{"segment", i, row_at(Table::kSegments, i)},
                         fmt::format("its leaves start at {} instead of {}", place.first, next));
      }
      FATCTX_TRY(check_leaf_range(i, place, algorithm));
      next = place.first + leaf_units(segment.leaf_count());
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
    segment_used_.assign(toc_.segments.size(), 0);
    for (std::size_t i = 0; i < toc_.slices.size(); ++i) {
      FATCTX_TRY(make_slice(i));
      segment_used_[toc_.slices[i].segment] = 1;
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
    std::uint64_t next_slice = 0;
    for (std::size_t i = 0; i < toc_.records.size(); ++i) {
      FATCTX_TRY(check_record_order(i));
      FATCTX_TRY(make_record(i, next_slice));
      next_slice += toc_.records[i].slice_count;
      if (toc_.records[i].type == RecordType::kDescription) ++descriptions_;
      if (toc_.records[i].type == RecordType::kTensorTable) ++tensor_tables_;
    }
    if (next_slice != toc_.slices.size()) {
      return malformed("F15", Row{"slice", next_slice, row_at(Table::kSlices, next_slice)}, "belongs to no record");
    }
    return Done{};
  }

  Status check_record_order(std::size_t index) const {
    Row row;
    const std::uint32_t id = entry<RecordEntry>(Table::kRecords, index, row, "record").record_id;
    if (index == 0 || id == 0 || id > toc_.records[index - 1].id) return Done{};  // make_record() judges 0
    const bool same = id == toc_.records[index - 1].id;
    Error error =
        malformed(same ? "F18" : "F15", row, same ? "record id used twice" : "records are not in ascending order");
    error.where.record_id = id;
    return error;
  }

  Status parse_keys() {
    const std::uint64_t count = table(Table::kKeys).count;
    std::vector<std::uint8_t> keyed(toc_.records.size(), 0);
    std::vector<std::uint32_t> keys(toc_.records.size(), kNoRow);  // what F45 wants in the records' rows
    std::uint64_t keyed_descriptions = 0;
    const SelectionKey* previous = nullptr;
    for (std::uint64_t i = 0; i < count; ++i) {
      Row row;
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

  Status parse_references() {
    std::vector<std::uint8_t> described(toc_.records.size(), 0);  // tensor tables whose blob is known
    std::uint64_t described_tables = 0;
    std::vector<std::uint32_t> links(toc_.records.size(), kNoRow);  // what F45 wants in the records' rows
    std::optional<ReferenceEntry> previous;
    for (std::uint64_t i = 0; i < table(Table::kReferences).count; ++i) {
      Row row;
      const auto disk = entry<ReferenceEntry>(Table::kReferences, i, row, "reference");
      FATCTX_TRY(check_reference(disk, row));
      if (previous && !before(*previous, disk)) return malformed("F15", row, "references are not in ascending order");
      previous = disk;
      const RecordInfo* from = toc_.find(disk.from_record);
      const RecordInfo* to = toc_.find(disk.to_record);
      if (from == nullptr || to == nullptr) {
        return complaint(ErrorCode::kBadReference, "F27", row, "one of its records does not exist");
      }
      FATCTX_TRY(make_reference(disk, row, toc_.records[toc_.index_of(*from)], *to));
      if (toc_.references[static_cast<std::size_t>(i)].kind == ReferenceKind::kTensorTable) {
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
      Row row;
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
    for (std::uint64_t i = 0; i < table(Table::kRecordDigests).count; ++i) FATCTX_TRY(check_record_digest(i));
    return Done{};
  }

  Status check_name_index() const {
    std::uint64_t previous = 0;
    for (std::uint64_t i = 0; i < table(Table::kNameIndex).count; ++i) {
      Row row;
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

void size_toc(Toc& toc, const Header& header) {
  const auto rows = [&](Table table) { return static_cast<std::size_t>(toc.head.table(table).count); };
  toc.segments = RawArray<Segment>(rows(Table::kSegments));
  toc.slices = RawArray<Slice>(rows(Table::kSlices));
  toc.records = RawArray<RecordInfo>(rows(Table::kRecords));
  toc.forms = RawArray<RecordForm>(rows(Table::kRecords));
  toc.references = RawArray<Reference>(rows(Table::kReferences));
  toc.weight_ids = RawArray<std::uint32_t>(rows(Table::kReferences));
  toc.newer_fields = header.has_newer_fields();
  toc.stored_bytes = header.committed_end - header.form().size - header.toc_size;  // F11: both copies are in there
}

Status parse_rows(Toc& toc, ByteView bytes, const Header& header, int copy) {
  return Parser(toc, bytes, header, copy).run();
}

Result<Toc> parse_toc(RawArray<std::byte> bytes, const Header& header, int copy) {
  Toc toc;
  toc.bytes = std::move(bytes);
  const ByteView all(toc.bytes);
  if (all.size() != header.toc_size || header.toc_head_size >= all.size()) {
    return Error{ErrorCode::kMalformed,
                 "the table of contents has another size than its slot says",
                 {.file_offset = header.toc_offset[static_cast<std::size_t>(copy)] + all.size(), .rule = "F12"}};
  }
  FATCTX_ASSIGN(toc.head, parse_toc_head(all.first(static_cast<std::size_t>(header.toc_head_size)), header, copy));
  toc.copy = copy;
  size_toc(toc, header);
  FATCTX_TRY(parse_rows(toc, all, header, copy));
  return toc;
}

}  // namespace fatctx::container
