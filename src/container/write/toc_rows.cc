#include "container/write/toc_rows.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "container/format/copy_out.h"
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
  return {rows.segments.size(),   rows.records.size(),     slices,      keys,
          rows.references.size(), rows.generations.size(), names.size()};
}

Result<std::uint64_t> size_of(const Counts& counts, const TocRows& rows) {
  std::uint64_t size = kTablesStart;
  for (std::uint32_t i = 0; i < kTableCount; ++i) {
    if (counts[i] > kTableMaxCounts[i]) {
      return Error{ErrorCode::kLimitExceeded, fmt::format("table {} would have {} entries, at most {} are allowed", i,
                                                          counts[i], kTableMaxCounts[i])};
    }
    size += counts[i] * rows.row_sizes[i];
  }
  if (size > kMaxTocSize) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("the table of contents would have {} bytes, at most {} are allowed", size, kMaxTocSize)};
  }
  return size;
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

void append_keys(std::vector<std::byte>& out, const TocRows& rows, const Names& names) {
  std::vector<const RecordRow*> keyed;
  for (const RecordRow& record : rows.records) {
    if (record.key) keyed.push_back(&record);
  }
  std::sort(keyed.begin(), keyed.end(), [](const RecordRow* a, const RecordRow* b) {
    return compare_keys(key_view(*a->key), key_view(*b->key)) < 0;
  });
  for (const RecordRow* record : keyed) {
    Row<KeyEntry> entry = record->key->entry;
    entry.record_id = record->entry.record_id;
    for (const NameField& field : kKeyNames) entry.*field.second = names.at((*record->key).*field.first);
    append_row(out, rows, Table::kKeys, entry);
  }
}

void append_references(std::vector<std::byte>& out, const TocRows& rows) {
  std::vector<Row<ReferenceEntry>> references = rows.references;
  const auto order = [](const ReferenceEntry& row) {
    return std::tuple<std::uint32_t, std::uint16_t, std::uint16_t, std::uint32_t>(row.from_record, row.kind, row.role,
                                                                                  row.to_record);
  };
  std::sort(references.begin(), references.end(),
            [&](const ReferenceEntry& a, const ReferenceEntry& b) { return order(a) < order(b); });
  for (const Row<ReferenceEntry>& reference : references) append_row(out, rows, Table::kReferences, reference);
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
  for (std::uint64_t i = 0; i < source.count(Table::kSegments); ++i) {
    rows.segments.push_back(stored_row<SegmentEntry>(source, Table::kSegments, i));
  }
  for (std::uint64_t i = 0; i < source.count(Table::kRecords); ++i) {
    RecordRow record;
    record.entry = stored_row<RecordEntry>(source, Table::kRecords, i);
    record.name = source.name(record.entry.name);
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

Result<std::uint64_t> toc_size_of(const TocRows& rows) { return size_of(counts_of(rows, Names(rows)), rows); }

Result<std::vector<std::byte>> toc_bytes(const TocRows& rows) {
  const Names names(rows);
  const Counts counts = counts_of(rows, names);
  FATCTX_ASSIGN(const std::uint64_t size, size_of(counts, rows));
  std::vector<std::byte> toc;
  toc.reserve(static_cast<std::size_t>(size));
  TocHeader head = {};
  head.magic = kTocMagic;
  head.table_count = kTableCount;
  head.uuid = rows.uuid;
  head.generation = rows.generation;
  head.toc_size = size;
  append_struct(toc, head);
  std::uint64_t offset = kTablesStart;
  for (std::uint32_t i = 0; i < kTableCount; ++i) {
    DirectoryEntry directory = {};
    directory.offset = offset;
    directory.count = counts[i];
    directory.entry_size = static_cast<std::uint32_t>(rows.row_sizes[i]);
    append_struct(toc, directory);
    offset += counts[i] * rows.row_sizes[i];
  }
  for (const Row<SegmentEntry>& segment : rows.segments) append_row(toc, rows, Table::kSegments, segment);
  std::uint32_t next_slice = 0;
  for (const RecordRow& record : rows.records) {
    Row<RecordEntry> entry = record.entry;
    entry.name = names.at(record.name);
    entry.first_slice = next_slice;
    entry.slice_count = static_cast<std::uint32_t>(record.slices.size());
    next_slice += entry.slice_count;
    append_row(toc, rows, Table::kRecords, entry);
  }
  for (const RecordRow& record : rows.records) {
    for (const Row<SliceEntry>& slice : record.slices) append_row(toc, rows, Table::kSlices, slice);
  }
  append_keys(toc, rows, names);
  append_references(toc, rows);
  for (const Row<GenerationEntry>& generation : rows.generations) {
    append_row(toc, rows, Table::kGenerations, generation);
  }
  names.append_to(toc);
  return toc;
}

}  // namespace fatctx::container
