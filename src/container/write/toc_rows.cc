#include "container/write/toc_rows.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/name_index.h"
#include "container/format/page_hashes.h"
#include "container/read/stored_rows.h"

namespace fatctx::container {
namespace {

using NameField = std::pair<std::string KeyRow::*, le32 KeyEntry::*>;
constexpr std::array<NameField, 7> kKeyNames = {{{&KeyRow::group, &KeyEntry::group},
                                                 {&KeyRow::unit, &KeyEntry::unit},
                                                 {&KeyRow::backend, &KeyEntry::backend},
                                                 {&KeyRow::part, &KeyEntry::part},
                                                 {&KeyRow::arch, &KeyEntry::arch},
                                                 {&KeyRow::features, &KeyEntry::features},
                                                 {&KeyRow::variant, &KeyEntry::variant}}};

// The names region: every distinct string once, in bytewise order, the empty one first. Borrows from the rows.
class Names {
 public:
  explicit Names(const TocRows& rows) {
    offsets_.emplace(std::string_view(), 0);
    for (const RecordRow& record : rows.records) {
      offsets_.emplace(record.name, 0);
      if (!record.key) continue;
      for (const NameField& field : kKeyNames) offsets_.emplace((*record.key).*field.first, 0);
    }
    std::uint64_t at = 0;
    for (auto& [text, offset] : offsets_) {
      offset = at;
      at += sizeof(le16) + text.size();
    }
    size_ = at;
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t at(std::string_view text) const { return static_cast<std::uint32_t>(offsets_.at(text)); }
  void append_to(std::vector<std::byte>& out) const {
    for (const auto& [text, offset] : offsets_) {
      append_struct(out, le16(static_cast<std::uint16_t>(text.size())));
      const auto bytes = std::as_bytes(std::span(text));
      out.insert(out.end(), bytes.begin(), bytes.end());
    }
  }

 private:
  std::map<std::string_view, std::uint64_t> offsets_;
  std::uint64_t size_ = 0;
};

using Counts = std::array<std::uint64_t, kTableCount>;

Counts counts_of(const TocRows& rows, const Names& names) {
  std::uint64_t slices = 0;
  std::uint64_t keys = 0;
  for (const RecordRow& record : rows.records) {
    slices += record.slices.size();
    keys += record.key ? 1U : 0U;
  }
  return {rows.segments.size(),
          rows.records.size(),
          slices,
          keys,
          rows.references.size(),
          rows.generations.size(),
          rows.sha256 ? rows.records.size() : 0,
          rows.sha256 ? rows.segments.size() : 0,
          rows.records.size(),
          names.size()};
}

Result<TocSize> size_of(const Counts& counts, const TocRows& rows) {
  std::uint64_t size = 0;
  for (std::uint32_t i = 0; i < kTableCount; ++i) {
    if (counts[i] > kTableMaxCounts[i]) {
      return Error{ErrorCode::kLimitExceeded, fmt::format("table {} would have {} entries, at most {} are allowed", i,
                                                          counts[i], kTableMaxCounts[i])};
    }
    size += counts[i] * rows.row_sizes[i];
  }
  const std::uint64_t head = toc_head_size(toc_pages(size), rows.sha256);
  size += head;
  if (size > kMaxTocSize) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("the table of contents would have {} bytes, at most {} are allowed", size, kMaxTocSize)};
  }
  return TocSize{head, size};
}

SelectionKey key_view(const KeyRow& row) {
  const auto version = [](const DiskVersion& disk) {
    return Version{disk.major_version, disk.minor_version, disk.patch_version, disk.build_version};
  };
  SelectionKey key;
  key.type = static_cast<RecordType>(static_cast<std::uint16_t>(row.entry.type));
  key.group = row.group;
  key.unit = row.unit;
  key.backend = row.backend;
  key.qnn_soc = row.entry.qnn_soc;
  key.part = row.part;
  key.arch = row.arch;
  key.features = row.features;
  key.vtcm_mb = row.entry.vtcm_mb;
  key.sdk = version(row.entry.sdk);
  key.variant = row.variant;
  return key;
}

template <typename Entry>
void append_row(std::vector<std::byte>& out, const TocRows& rows, Table table, const Row<Entry>& row) {
  const std::size_t end = out.size() + static_cast<std::size_t>(rows.row_sizes[static_cast<std::size_t>(table)]);
  append_struct<Entry>(out, row);
  out.insert(out.end(), row.tail.begin(), row.tail.end());
  out.resize(end);
}

// Returns the records with keys, in the order of those.
std::vector<std::size_t> by_key(const TocRows& rows) {
  std::vector<std::size_t> keyed;
  for (std::size_t i = 0; i < rows.records.size(); ++i) {
    if (rows.records[i].key) keyed.push_back(i);
  }
  std::sort(keyed.begin(), keyed.end(), [&](std::size_t a, std::size_t b) {
    return compare_keys(key_view(*rows.records[a].key), key_view(*rows.records[b].key)) < 0;
  });
  return keyed;
}

std::vector<Row<ReferenceEntry>> in_order(std::vector<Row<ReferenceEntry>> references) {
  const auto order = [](const ReferenceEntry& row) {
    return std::tuple<std::uint32_t, std::uint16_t, std::uint16_t, std::uint32_t>(row.from_record, row.kind, row.role,
                                                                                  row.to_record);
  };
  std::sort(references.begin(), references.end(),
            [&](const ReferenceEntry& a, const ReferenceEntry& b) { return order(a) < order(b); });
  return references;
}

// Returns the index of a record; the number of records if there is none.
std::size_t index_of(const TocRows& rows, std::uint32_t id) {
  const auto found =
      std::lower_bound(rows.records.begin(), rows.records.end(), id,
                       [](const RecordRow& row, std::uint32_t wanted) { return row.entry.record_id < wanted; });
  return found != rows.records.end() && found->entry.record_id == id
             ? static_cast<std::size_t>(found - rows.records.begin())
             : rows.records.size();
}

// Returns the `link` of each record.
std::vector<std::uint32_t> links_of(const TocRows& rows, const std::vector<Row<ReferenceEntry>>& references) {
  std::vector<std::uint32_t> links(rows.records.size(), kNoRow);
  for (std::size_t i = 0; i < references.size(); ++i) {
    const std::size_t from = index_of(rows, references[i].from_record);
    if (from == links.size()) continue;
    if (links[from] == kNoRow) links[from] = static_cast<std::uint32_t>(i);
    if (references[i].kind != static_cast<std::uint16_t>(ReferenceKind::kTensorTable)) continue;
    const std::size_t to = index_of(rows, references[i].to_record);
    if (to != links.size()) links[to] = static_cast<std::uint32_t>(from);
  }
  return links;
}

void append_records(std::vector<std::byte>& out, const TocRows& rows, const Names& names,
                    const std::vector<std::size_t>& keyed, const std::vector<Row<ReferenceEntry>>& references) {
  std::vector<std::uint32_t> keys(rows.records.size(), kNoRow);
  for (std::size_t i = 0; i < keyed.size(); ++i) keys[keyed[i]] = static_cast<std::uint32_t>(i);
  const std::vector<std::uint32_t> links = links_of(rows, references);
  std::uint32_t next_slice = 0;
  for (std::size_t i = 0; i < rows.records.size(); ++i) {
    const RecordRow& record = rows.records[i];
    Row<RecordEntry> entry = record.entry;
    entry.name = names.at(record.name);
    entry.key = keys[i];
    entry.link = links[i];
    entry.first_slice = next_slice;
    entry.slice_count = static_cast<std::uint32_t>(record.slices.size());
    next_slice += entry.slice_count;
    append_row(out, rows, Table::kRecords, entry);
  }
}

void append_keys(std::vector<std::byte>& out, const TocRows& rows, const Names& names,
                 const std::vector<std::size_t>& keyed) {
  for (const std::size_t index : keyed) {
    const RecordRow& record = rows.records[index];
    Row<KeyEntry> entry = record.key->entry;
    entry.record_id = record.entry.record_id;
    for (const NameField& field : kKeyNames) entry.*field.second = names.at((*record.key).*field.first);
    append_row(out, rows, Table::kKeys, entry);
  }
}

void append_name_index(std::vector<std::byte>& out, const TocRows& rows) {
  std::vector<std::string_view> names;
  names.reserve(rows.records.size());
  for (const RecordRow& record : rows.records) names.emplace_back(record.name);
  for (const NameIndexEntry& entry : name_index(names)) append_row<NameIndexEntry>(out, rows, Table::kNameIndex, entry);
}

template <typename Entry>
Row<Entry> stored_row(const StoredRows& source, Table table, std::uint64_t index) {
  Row<Entry> row = source.row<Entry>(table, index);
  const ByteView tail = source.tail<Entry>(table, index);
  row.tail.assign(tail.begin(), tail.end());
  return row;
}

}  // namespace

TocRows rows_of(const Toc& toc) {
  const StoredRows source(toc);
  const auto head = copy_out<TocHeader>(toc.bytes, 0).value();
  TocRows rows;
  rows.uuid = head.uuid;
  rows.generation = head.generation;
  for (std::uint32_t i = 0; i < kTableCount; ++i) rows.row_sizes[i] = source.row_size(static_cast<Table>(i));
  rows.sha256 = source.has_digests();
  for (std::uint64_t i = 0; i < source.count(Table::kSegments); ++i) {
    SegmentRow& segment = rows.segments.emplace_back(stored_row<SegmentEntry>(source, Table::kSegments, i));
    if (rows.sha256) segment.digest = stored_row<SegmentDigest>(source, Table::kSegmentDigests, i);
  }
  for (std::uint64_t i = 0; i < source.count(Table::kRecords); ++i) {
    RecordRow record;
    record.entry = stored_row<RecordEntry>(source, Table::kRecords, i);
    record.name = source.name(record.entry.name);
    if (rows.sha256) record.digest = stored_row<RecordDigest>(source, Table::kRecordDigests, i);
    for (std::uint64_t at = 0; at < record.entry.slice_count; ++at) {
      record.slices.push_back(stored_row<SliceEntry>(source, Table::kSlices, record.entry.first_slice + at));
    }
    rows.records.push_back(std::move(record));
  }
  for (std::uint64_t i = 0; i < source.count(Table::kKeys); ++i) {
    KeyRow key;
    key.entry = stored_row<KeyEntry>(source, Table::kKeys, i);
    for (const NameField& field : kKeyNames) key.*field.first = source.name(key.entry.*field.second);
    const auto record =
        std::lower_bound(rows.records.begin(), rows.records.end(), std::uint32_t{key.entry.record_id},
                         [](const RecordRow& row, std::uint32_t id) { return row.entry.record_id < id; });
    record->key = std::move(key);
  }
  for (std::uint64_t i = 0; i < source.count(Table::kReferences); ++i) {
    rows.references.push_back(stored_row<ReferenceEntry>(source, Table::kReferences, i));
  }
  for (std::uint64_t i = 0; i < source.count(Table::kGenerations); ++i) {
    rows.generations.push_back(stored_row<GenerationEntry>(source, Table::kGenerations, i));
  }
  return rows;
}

Result<TocSize> toc_size_of(const TocRows& rows) { return size_of(counts_of(rows, Names(rows)), rows); }

Result<std::vector<std::byte>> toc_bytes(const TocRows& rows) {
  const Names names(rows);
  const Counts counts = counts_of(rows, names);
  FATCTX_ASSIGN(const TocSize size, size_of(counts, rows));
  const std::uint64_t pages = toc_pages(size.all - size.head);
  std::vector<std::byte> toc;
  toc.reserve(static_cast<std::size_t>(size.all));
  TocHeader head = {};
  head.magic = kTocMagic;
  head.table_count = kTableCount;
  head.uuid = rows.uuid;
  head.generation = rows.generation;
  head.toc_size = size.all;
  head.head_size = size.head;
  head.page_count = static_cast<std::uint32_t>(pages);
  head.flags = rows.sha256 ? kTocSha256 : 0;
  append_struct(toc, head);
  std::uint64_t offset = size.head;
  for (std::uint32_t i = 0; i < kTableCount; ++i) {
    DirectoryEntry directory = {};
    directory.offset = offset;
    directory.count = counts[i];
    directory.entry_size = static_cast<std::uint32_t>(rows.row_sizes[i]);
    append_struct(toc, directory);
    offset += counts[i] * rows.row_sizes[i];
  }
  toc.resize(static_cast<std::size_t>(size.head));
  const std::vector<std::size_t> keyed = by_key(rows);
  const std::vector<Row<ReferenceEntry>> references = in_order(rows.references);
  for (const SegmentRow& segment : rows.segments) append_row<SegmentEntry>(toc, rows, Table::kSegments, segment);
  append_records(toc, rows, names, keyed, references);
  for (const RecordRow& record : rows.records) {
    for (const Row<SliceEntry>& slice : record.slices) append_row(toc, rows, Table::kSlices, slice);
  }
  append_keys(toc, rows, names, keyed);
  for (const Row<ReferenceEntry>& reference : references) append_row(toc, rows, Table::kReferences, reference);
  for (const Row<GenerationEntry>& generation : rows.generations) {
    append_row(toc, rows, Table::kGenerations, generation);
  }
  if (rows.sha256) {
    for (const RecordRow& record : rows.records) append_row(toc, rows, Table::kRecordDigests, record.digest);
    for (const SegmentRow& segment : rows.segments) append_row(toc, rows, Table::kSegmentDigests, segment.digest);
  }
  append_name_index(toc, rows);
  names.append_to(toc);
  const ByteView body = ByteView(toc).subspan(static_cast<std::size_t>(size.head));
  const std::span<std::byte> hashes =
      std::span(toc).first(static_cast<std::size_t>(size.head)).subspan(static_cast<std::size_t>(kPageHashesStart));
  put_page_hashes(body, hashes);
  if (rows.sha256) put_page_sha256(body, hashes.subspan(static_cast<std::size_t>(pages * sizeof(DiskHash))));
  return toc;
}

ByteView head_of(ByteView toc) {
  const auto head = copy_out<TocHeader>(toc, 0).value();
  return toc.first(static_cast<std::size_t>(head.head_size));
}

}  // namespace fatctx::container
