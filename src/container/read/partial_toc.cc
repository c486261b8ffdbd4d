#include "container/read/partial_toc.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/name_index.h"
#include "container/read/toc_head.h"

namespace fatctx::container {
namespace {

// Copies the rows that are not there yet.
template <typename T>
void take_missing(RawArray<T>& into, const RawArray<T>& from, const std::vector<bool>& there) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (!there[i]) into.make(i, from[i]);
  }
}

}  // namespace

PartialToc::PartialToc(const mapping::OsFile& file, const Header& header, Toc& toc)
    : file_(file),
      header_(header),
      toc_(toc),
      rules_(toc, toc.bytes_view(), header, toc.copy),
      pages_(static_cast<std::size_t>(toc.head.page_count)),
      segments_(toc.segments.size()),
      slices_(toc.slices.size()),
      records_(toc.records.size()),
      linked_(toc.records.size()),
      references_(toc.references.size()) {}

Result<const RecordInfo*> PartialToc::find(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto row_at = [&](std::uint64_t at) { return row<NameIndexEntry>(Table::kNameIndex, at); };
  const auto name_is = [&](std::uint32_t index) -> Result<bool> {
    if (index >= toc_.records.size()) {
      return rules_.malformed_toc("F45", rules_.row_at(Table::kNameIndex, 0),
                                  fmt::format("the name index names record {} of {}", index, toc_.records.size()));
    }
    FATCTX_TRY(need_record(index));
    return toc_.records[index].name == name;
  };
  FATCTX_ASSIGN(const auto found, find_name(name, toc_.records.size(), row_at, name_is));
  if (!found) return nullptr;
  return need_linked(*found);
}

Result<const RecordInfo*> PartialToc::find(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  FATCTX_ASSIGN(const std::uint32_t index, index_of(id));
  if (index == kNoRow) return nullptr;
  return need_linked(index);
}

std::vector<const RecordInfo*> PartialToc::known() {
  const std::lock_guard lock(mutex_);
  std::vector<const RecordInfo*> there;
  for (std::size_t i = 0; i < linked_.size(); ++i) {
    if (linked_[i]) there.push_back(&toc_.records[i]);
  }
  return there;
}

Status PartialToc::need_all() {
  if (whole()) return Done{};
  const std::lock_guard lock(mutex_);
  if (whole()) return Done{};  // another thread was first
  FATCTX_TRY(need({header_.toc_head_size, header_.toc_size - header_.toc_head_size}));
  // Apart from `toc_`, because others may be reading rows of it.
  Toc all;
  all.head = toc_.head;
  size_toc(all, header_);
  FATCTX_TRY(parse_rows(all, toc_.bytes_view(), header_, toc_.copy));
  take_missing(toc_.segments, all.segments, segments_);
  take_missing(toc_.slices, all.slices, slices_);
  take_missing(toc_.forms, all.forms, records_);
  for (std::size_t i = 0; i < all.references.size(); ++i) {
    if (references_[i]) continue;
    toc_.references.make(i, all.references[i]);
    if (all.references[i].kind == ReferenceKind::kWeights) toc_.weight_ids.make(i, all.weight_ids[i]);
  }
  for (std::size_t i = 0; i < all.records.size(); ++i) {
    if (linked_[i]) continue;
    RecordInfo record = all.records[i];
    if (!record.weights.empty()) {
      record.weights = {toc_.weight_ids.data() + (record.weights.data() - all.weight_ids.data()),
                        record.weights.size()};
    }
    if (records_[i]) {
      if (!record.weights.empty()) toc_.records[i].weights = record.weights;  // others may read the rest of it
    } else {
      toc_.records.make(i, record);
    }
  }
  toc_.generations = std::move(all.generations);
  // A call that looked at whole_ before waits for the lock, and must not make rows again that others read by now.
  for (std::vector<bool>* const there : {&segments_, &slices_, &records_, &linked_, &references_}) {
    there->assign(there->size(), true);
  }
  whole_.store(true, std::memory_order_release);
  return Done{};
}

Status PartialToc::need(ByteRange in_toc) {
  if (in_toc.size == 0) return Done{};
  const std::uint64_t start = in_toc.offset - header_.toc_head_size;  // rows are behind the head
  std::uint64_t page = start / kTocPageSize;
  const std::uint64_t end = (start + in_toc.size - 1) / kTocPageSize + 1;
  while (page < end) {
    std::uint64_t behind = page;
    while (behind < end && !pages_[static_cast<std::size_t>(behind)]) ++behind;
    if (behind != page) FATCTX_TRY(read_pages(page, behind));
    page = behind + 1;
  }
  return Done{};
}

bool PartialToc::page_is_good(std::uint64_t page) const {
  const ByteView bytes = toc_.bytes_view();
  const ByteView head = bytes.first(static_cast<std::size_t>(header_.toc_head_size));
  const ByteRange range = toc_page(page, header_);
  const ByteView found = bytes.subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
  // Only SHA-256 shows whose page it is.
  if (toc_.authenticated) return page_sha256_matches(page_sha256_hashes(head, toc_.head.page_count), page, found);
  return page_hash_matches(page_hashes(head), page, found);
}

Status PartialToc::read_pages(std::uint64_t first, std::uint64_t end) {
  const auto read = [&](int copy, std::uint64_t from, std::uint64_t to) {
    const ByteRange last = toc_page(to - 1, header_);
    const std::uint64_t at = toc_page(from, header_).offset;
    const auto into = toc_.bytes.make_for_overwrite(static_cast<std::size_t>(at),
                                                    static_cast<std::size_t>(last.offset + last.size - at));
    return file_.read_at(header_.toc_offset[static_cast<std::size_t>(copy)] + at, into).ok();
  };
  const bool together = read(toc_.copy, first, end);
  for (std::uint64_t page = first; page < end; ++page) {
    bool good = (together || read(toc_.copy, page, page + 1)) && page_is_good(page);
    if (!good) {
      degraded_.fetch_or(toc_.copy == 0 ? kDegradedToc0 : kDegradedToc1, std::memory_order_relaxed);
      good = read(1 - toc_.copy, page, page + 1) && page_is_good(page);
    }
    if (!good) {
      const std::uint64_t at = header_.toc_offset[static_cast<std::size_t>(toc_.copy)] + toc_page(page, header_).offset;
      return Error{ErrorCode::kChecksumMismatch,
                   fmt::format("both copies of page {} of the table of contents are damaged", page),
                   {.file_offset = at, .rule = "F13"}};
    }
    pages_[static_cast<std::size_t>(page)] = true;
  }
  return Done{};
}

template <typename T>
Result<T> PartialToc::row(Table table, std::uint64_t index) {
  const std::uint64_t at = rules_.row_at(table, index);
  FATCTX_TRY(need({at, sizeof(T)}));
  return copy_out<T>(toc_.bytes_view(), at);
}

Status PartialToc::need_name(std::uint32_t offset) {
  const TableRange& names = rules_.table(Table::kNames);
  if (!within({offset, sizeof(le16)}, names.count)) return Done{};
  FATCTX_TRY(need({names.offset + offset, sizeof(le16)}));
  const auto size = copy_out<le16>(toc_.bytes_view(), names.offset + offset);
  const ByteRange text{std::uint64_t{offset} + sizeof(le16), size.value()};
  if (!within(text, names.count)) return Done{};
  return need({names.offset + text.offset, text.size});
}

Status PartialToc::need_segment(std::uint32_t index) {
  if (index >= segments_.size() || segments_[index]) return Done{};
  FATCTX_TRY(need({rules_.row_at(Table::kSegments, index), sizeof(SegmentEntry)}));
  FATCTX_TRY(rules_.make_segment(index));
  if (toc_.head.sha256) {
    FATCTX_TRY(need({rules_.row_at(Table::kSegmentDigests, index), sizeof(SegmentDigest)}));
    FATCTX_TRY(rules_.check_segment_digest(index));
  }
  for (const std::uint8_t algorithm : {kHashXxh3, kHashSha256}) {
    const RowRules::LeafPlace place = rules_.leaf_place(index, algorithm);
    const bool wanted =
        algorithm == kHashXxh3 && toc_.segments[index].holds_payload() && toc_.segments[index].leaf_count() > 1;
    if (place.segment == kNoSegment && !wanted) continue;
    FATCTX_TRY(need_segment(place.segment));  // a LEAVES segment has no leaves, so this ends
    FATCTX_TRY(rules_.check_leaf_segment(index, place, algorithm));
    FATCTX_TRY(rules_.check_leaf_range(index, place, algorithm));
  }
  segments_[index] = true;
  return Done{};
}

Status PartialToc::need_slices(std::uint64_t first, std::uint64_t count) {
  if (!within({first, count}, slices_.size()) || count == 0) return Done{};  // check_record_slices() judges that
  const std::uint64_t start = rules_.row_at(Table::kSlices, first);
  FATCTX_TRY(need({start, rules_.row_at(Table::kSlices, first + count - 1) + sizeof(SliceEntry) - start}));
  for (std::uint64_t i = first; i < first + count; ++i) {
    if (slices_[static_cast<std::size_t>(i)]) continue;
    FATCTX_ASSIGN(const SliceEntry disk, row<SliceEntry>(Table::kSlices, i));
    FATCTX_TRY(need_segment(disk.segment));
    FATCTX_TRY(rules_.make_slice(i));
    slices_[static_cast<std::size_t>(i)] = true;
  }
  return Done{};
}

Status PartialToc::need_record(std::uint32_t index) {
  if (records_[index]) return Done{};
  FATCTX_ASSIGN(const RecordEntry disk, row<RecordEntry>(Table::kRecords, index));
  FATCTX_TRY(need_name(disk.name));
  FATCTX_TRY(need_slices(disk.first_slice, disk.slice_count));
  FATCTX_TRY(rules_.make_record(index, disk.first_slice));
  if (toc_.head.sha256) {
    FATCTX_TRY(need({rules_.row_at(Table::kRecordDigests, index), sizeof(RecordDigest)}));
    FATCTX_TRY(rules_.check_record_digest(index));
  }
  FATCTX_TRY(need_key(index));
  records_[index] = true;
  return Done{};
}

Status PartialToc::need_key(std::uint32_t index) {
  RecordInfo& record = toc_.records[index];
  const std::uint32_t key = toc_.forms[index].key;
  if (key == kNoRow) return Done{};
  const RowRules::Row of_record{"record", index, rules_.row_at(Table::kRecords, index)};
  if (key >= rules_.table(Table::kKeys).count)
    return rules_.malformed("F45", of_record, "names a key that is not there");
  FATCTX_TRY(need({rules_.row_at(Table::kKeys, key), sizeof(KeyEntry)}));
  RowRules::Row row;
  const auto disk = rules_.entry<KeyEntry>(Table::kKeys, key, row, "key");
  if (disk.record_id != record.id) return rules_.malformed("F45", of_record, "names another key than its own");
  if (static_cast<std::uint16_t>(record.type) != disk.type) {
    return rules_.malformed("F37", row, "key and record disagree about the type");
  }
  for (const std::uint32_t name :
       {disk.group, disk.unit, disk.backend, disk.part, disk.arch, disk.features, disk.variant}) {
    FATCTX_TRY(need_name(name));
  }
  return rules_.read_key(disk, row, record.key);
}

Result<const RecordInfo*> PartialToc::need_linked(std::uint32_t index) {
  FATCTX_TRY(need_record(index));
  if (!linked_[index] && toc_.forms[index].link != kNoRow) {
    if (toc_.records[index].type == RecordType::kWeightBlob) {
      FATCTX_TRY(need_table_of(index));
    } else {
      FATCTX_TRY(need_references(index));
    }
  }
  linked_[index] = true;
  return &toc_.records[index];
}

Status PartialToc::need_references(std::uint32_t index) {
  RecordInfo& record = toc_.records[index];
  const RowRules::Row of_record{"record", index, rules_.row_at(Table::kRecords, index)};
  const std::uint64_t count = rules_.table(Table::kReferences).count;
  const std::uint64_t first = toc_.forms[index].link;
  record.weights = {};  // an earlier try may have failed half-way
  for (std::uint64_t i = first; i < std::max(count, first + 1); ++i) {
    const bool here = i < count;
    if (here) FATCTX_TRY(need({rules_.row_at(Table::kReferences, i), sizeof(ReferenceEntry)}));
    RowRules::Row row;
    const auto disk = here ? rules_.entry<ReferenceEntry>(Table::kReferences, i, row, "reference") : ReferenceEntry();
    if (disk.from_record != record.id) {
      if (i != first) return Done{};
      return rules_.malformed("F45", of_record, "links another reference or tensor table than its own");
    }
    FATCTX_TRY(rules_.check_reference(disk, row));
    FATCTX_ASSIGN(const std::uint32_t to, index_of(disk.to_record));
    if (to == kNoRow) {
      return rules_.complaint(ErrorCode::kBadReference, "F27", row, "one of its records does not exist");
    }
    FATCTX_TRY(need_record(to));
    FATCTX_TRY(rules_.make_reference(disk, row, record, toc_.records[to]));
    references_[static_cast<std::size_t>(i)] = true;
  }
  return Done{};
}

Status PartialToc::need_table_of(std::uint32_t blob) {
  const std::uint32_t table = toc_.forms[blob].link;
  const RowRules::Row of_blob{"record", blob, rules_.row_at(Table::kRecords, blob)};
  const Error other = rules_.malformed("F45", of_blob, "links another reference or tensor table than its own");
  if (table >= toc_.records.size()) return other;
  FATCTX_TRY(need_record(table));
  if (toc_.records[table].type != RecordType::kTensorTable || toc_.forms[table].link == kNoRow) return other;
  if (!linked_[table]) FATCTX_TRY(need_references(table));
  linked_[table] = true;
  if (toc_.references[toc_.forms[table].link].to_record != toc_.records[blob].id) return other;
  return Done{};
}

Result<std::uint32_t> PartialToc::index_of(std::uint32_t id) {
  const auto id_at = [&](std::size_t index) -> Result<std::uint32_t> {
    FATCTX_ASSIGN(const RecordEntry disk, row<RecordEntry>(Table::kRecords, index));
    return std::uint32_t{disk.record_id};
  };
  // Tries the position first: a packed file numbers its records from 1 without gaps.
  std::size_t low = 0;
  std::size_t high = toc_.records.size();
  for (std::size_t at = std::size_t{id} - 1; low < high; at = low + (high - low) / 2) {
    if (at >= high) continue;
    FATCTX_ASSIGN(const std::uint32_t found, id_at(at));
    if (found == id) return static_cast<std::uint32_t>(at);
    if (found < id) {
      low = at + 1;
    } else {
      high = at;
    }
  }
  return kNoRow;
}

}  // namespace fatctx::container
