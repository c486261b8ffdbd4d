// Fields of a newer version behind a feature bit that this version may ignore: read without them, carried by an append,
// and never lost by a copy (docs/format.md, section 10).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "container/read/stored_rows.h"
#include "container/read/tensor_table.h"
#include "container/read/tensor_table_format.h"
#include "container/write/toc_rows.h"
#include "fatctx/container.h"
#include "fatctx/verify.h"
#include "support/appended.h"
#include "support/large_form.h"
#include "support/newer_file.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::container {
namespace newer_fields_test {

using support::Bytes;
using support::fails_with;
using support::HostileFile;
using support::is_ok;

Result<Header> header_of(const Bytes& file) { return parse_header(ByteView(file).first(kHeaderSize), file.size()); }

Result<Toc> toc_of(const Bytes& file) {
  FATCTX_ASSIGN(const Header header, header_of(file));
  const auto first = file.begin() + static_cast<std::ptrdiff_t>(header.toc_offset[0]);
  return parse_toc(Bytes(first, first + static_cast<std::ptrdiff_t>(header.toc_size)), header, 0);
}

Bytes newer_file() {
  HostileFile file(support::unsealed_sample());
  file.prologue.compat_features = support::kNewerBit;
  support::fill_reserved(file);
  support::lengthen_rows(file);
  support::add_unknown_record(file);
  return file.bytes();
}

TEST(NewerFields, AreRefusedUnlessAFeatureBitGuardsThem) {
  HostileFile file(support::unsealed_sample());
  support::fill_reserved(file);

  EXPECT_TRUE(fails_with(header_of(file.bytes()), ErrorCode::kMalformed, "F20"));
}

TEST(NewerFields, OfEveryPageAndRowAreReadBehindACompatBit) {
  HostileFile plain(support::unsealed_sample());
  const Toc before = toc_of(plain.bytes()).value();
  HostileFile file(support::unsealed_sample());
  file.prologue.compat_features = support::kNewerBit;
  support::fill_reserved(file);
  const Bytes bytes = file.bytes();

  const auto toc = toc_of(bytes);

  ASSERT_TRUE(is_ok(toc));
  ASSERT_EQ(toc.value().records.size(), before.records.size());
  for (std::size_t i = 0; i < before.records.size(); ++i) {
    EXPECT_EQ(toc.value().records[i].name, before.records[i].name);
    EXPECT_EQ(toc.value().records[i].hash, before.records[i].hash);
    EXPECT_EQ(toc.value().records[i].key.generic, before.records[i].key.generic);
    EXPECT_EQ(toc.value().records[i].must_map, before.records[i].must_map);
  }
  EXPECT_FALSE(header_of(bytes).value().sealed);
  EXPECT_EQ(newer_features_text(header_of(bytes).value()), "compat 0x10000000000");
}

TEST(NewerFields, AreReadBehindARoCompatBitToo) {
  HostileFile file(support::unsealed_sample());
  file.prologue.ro_compat_features = support::kNewerBit;
  support::fill_reserved(file);
  file.add_name("held by a field that only a newer writer changes");

  EXPECT_TRUE(is_ok(toc_of(file.bytes())));
}

TEST(NewerFields, BehindACompatBitHoldNoName) {
  HostileFile file(support::unsealed_sample());
  file.prologue.compat_features = support::kNewerBit;
  file.add_name("nobody knows where this name goes in an append");

  EXPECT_TRUE(fails_with(toc_of(file.bytes()), ErrorCode::kMalformed, "F30"));
}

TEST(NewerFields, DoNotIncludeTheRoleOfAReference) {
  HostileFile file(support::unsealed_sample());
  file.prologue.compat_features = support::kNewerBit;
  file.references.front().role = 1;

  EXPECT_TRUE(fails_with(toc_of(file.bytes()), ErrorCode::kMalformed, "F20"));
}

class LongerRows : public ::testing::TestWithParam<std::size_t> {};

TEST_P(LongerRows, AreReadBehindACompatBitOnly) {
  HostileFile file(support::unsealed_sample());
  file.row_tails[GetParam()] = support::pattern(8, 1);
  const auto refused = toc_of(file.bytes());
  file.prologue.compat_features = support::kNewerBit;

  const auto toc = toc_of(file.bytes());

  EXPECT_TRUE(fails_with(refused, ErrorCode::kMalformed, "F12"));
  ASSERT_TRUE(is_ok(toc));
  EXPECT_EQ(toc.value().records.size(), file.records.size());
  EXPECT_EQ(toc.value().segments.back().size, file.segments.back().size);
}

INSTANTIATE_TEST_SUITE_P(EachTable, LongerRows, ::testing::Values(0, 1, 2, 3, 4, 8));

TEST(NewerFields, RowsAreNeitherShorterNorVeryLongAndNamesHaveBytes) {
  for (const std::uint32_t size : {std::uint32_t{63}, static_cast<std::uint32_t>(kMaxEntrySize + 1), 0U}) {
    HostileFile file(support::unsealed_sample());
    file.prologue.compat_features = support::kNewerBit;
    file.in_toc = [&](Bytes& toc) {
      auto entry = support::struct_at<DirectoryEntry>(toc, sizeof(TocHeader));
      entry.entry_size = size;
      support::put_struct(toc, sizeof(TocHeader), entry);
    };
    EXPECT_TRUE(fails_with(toc_of(file.bytes()), ErrorCode::kMalformed, "F12")) << size;
  }
  HostileFile file(support::unsealed_sample());
  file.prologue.compat_features = support::kNewerBit;
  file.in_toc = [](Bytes& toc) {
    const std::size_t at = sizeof(TocHeader) + 9 * sizeof(DirectoryEntry);
    auto entry = support::struct_at<DirectoryEntry>(toc, at);
    entry.entry_size = 2;
    support::put_struct(toc, at, entry);
  };
  EXPECT_TRUE(fails_with(toc_of(file.bytes()), ErrorCode::kMalformed, "F12"));
}

// Compares everything of two rows but what a generation gives anew: indexes of segments and offsets of names.
template <typename Entry>
void expect_same_tail(const Row<Entry>& row, const Row<Entry>& before) {
  EXPECT_TRUE(row.tail == before.tail);
  EXPECT_FALSE(row.tail.empty());
}

TEST(NewerFields, AreCarriedByAnAppend) {
  const Bytes file = newer_file();
  const TocRows before = rows_of(toc_of(file).value());

  const support::Appended appended =
      support::append(file, {support::binary_record("added", "v99x", support::pattern(70'000, 9))});

  ASSERT_TRUE(is_ok(appended.report));
  const auto toc = toc_of(appended.bytes);
  ASSERT_TRUE(is_ok(toc));
  const TocRows after = rows_of(toc.value());
  EXPECT_EQ(after.row_sizes, before.row_sizes);
  std::size_t kept = 0;
  for (const RecordRow& old : before.records) {
    for (const RecordRow& row : after.records) {
      if (row.entry.record_id != old.entry.record_id) continue;
      ++kept;
      EXPECT_EQ(row.name, old.name);
      EXPECT_EQ(std::uint16_t{row.entry.flags}, std::uint16_t{old.entry.flags});
      EXPECT_EQ(row.entry.reserved0, old.entry.reserved0);
      expect_same_tail(row.entry, old.entry);
      ASSERT_EQ(row.key.has_value(), old.key.has_value());
      if (row.key) {
        EXPECT_EQ(std::uint16_t{row.key->entry.flags}, std::uint16_t{old.key->entry.flags});
        expect_same_tail(row.key->entry, old.key->entry);
      }
      ASSERT_EQ(row.slices.size(), old.slices.size());
      for (std::size_t i = 0; i < row.slices.size(); ++i) expect_same_tail(row.slices[i], old.slices[i]);
    }
  }
  EXPECT_EQ(kept, before.records.size() - 1);  // the description is written anew
  ASSERT_EQ(after.references.size(), before.references.size());
  for (std::size_t i = 0; i < after.references.size(); ++i) {
    EXPECT_EQ(after.references[i].reserved, before.references[i].reserved);
    expect_same_tail(after.references[i], before.references[i]);
  }
  std::size_t segments = 0;
  for (const SegmentRow& row : after.segments) {
    for (const SegmentRow& old : before.segments) {
      if (row.offset != old.offset || row.kind == static_cast<std::uint16_t>(SegmentKind::kDead)) continue;
      ++segments;
      EXPECT_EQ(row.reserved0, old.reserved0);
      expect_same_tail(row, old);
    }
  }
  EXPECT_GE(segments, before.segments.size() - 1);
}

TEST(NewerFields, OfNewRowsAreZero) {
  const support::Appended appended =
      support::append(newer_file(), {support::binary_record("added", "v99x", support::pattern(70'000, 9))});
  ASSERT_TRUE(is_ok(appended.report));
  const Toc toc = toc_of(appended.bytes).value();
  const StoredRows rows(toc);
  const std::uint64_t last = rows.count(Table::kGenerations) - 1;

  EXPECT_TRUE(all_zero(rows.tail<GenerationEntry>(Table::kGenerations, last)));
  EXPECT_FALSE(rows.tail<GenerationEntry>(Table::kGenerations, last).empty());
  std::size_t added = 0;
  for (std::uint64_t i = 0; i < rows.count(Table::kRecords); ++i) {
    if (rows.name(rows.record(i).name) != "added") continue;
    ++added;
    EXPECT_TRUE(all_zero(rows.tail<RecordEntry>(Table::kRecords, i)));
  }
  EXPECT_EQ(added, 1U);
}

// Returns a table of two tensors with longer entries, and with every reserved byte and bit set.
Bytes newer_tensor_table(std::size_t tail) {
  const std::vector<PackTensor> tensors = {
      {.name = "a", .dtype = DType::kF32, .shape = {4}, .offset_in_blob = 0, .size_bytes = 16},
      {.name = "b", .dtype = DType::kU8, .shape = {3}, .offset_in_blob = 16, .size_bytes = 3}};
  const Bytes plain = build_tensor_table(tensors, 64).value();
  auto head = support::struct_at<TensorTableHeader>(plain, 0);
  head.entry_size = static_cast<std::uint16_t>(sizeof(TensorEntry) + tail);
  support::fill(head.reserved);
  const std::size_t plain_head = sizeof(TensorTableHeader) + head.page_count * sizeof(DiskHash);
  const std::size_t plain_rows = plain_head + tensors.size() * sizeof(TensorEntry);
  const std::size_t body = plain.size() - plain_head + tensors.size() * tail;
  head.page_count = static_cast<std::uint32_t>(toc_pages(body));
  Bytes table;
  append_struct(table, head);
  table.resize(sizeof(TensorTableHeader) + head.page_count * sizeof(DiskHash));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto entry = support::struct_at<TensorEntry>(plain, plain_head + i * sizeof(TensorEntry));
    entry.flags = static_cast<std::uint8_t>(entry.flags | 0x80U);
    entry.reserved0 = 0xa5a5;
    entry.reserved1 = 0xa5a5a5a5;
    append_struct(table, entry);
    table.insert(table.end(), tail, support::kNewerByte);
  }
  const ByteView index_and_names = ByteView(plain).subspan(plain_rows);
  table.insert(table.end(), index_and_names.begin(), index_and_names.end());
  const std::span<std::byte> head_bytes = std::span(table).first(table.size() - body);
  put_page_hashes(ByteView(table).last(body), head_bytes.subspan(sizeof(TensorTableHeader)));
  return table;
}

TEST(NewerFields, OfATensorTableAreReadIfItsFileMayHaveThem) {
  for (const std::size_t tail : {0U, 8U, 100U}) {
    const Bytes bytes = newer_tensor_table(tail);

    const auto table = parse_tensor_table(bytes, 64, true);

    ASSERT_TRUE(is_ok(table)) << tail;
    ASSERT_EQ(table.value().size(), 2U);
    EXPECT_EQ(table.value().at(1).name, "b");
    EXPECT_EQ(table.value().at(1).offset_in_blob, 16U);
    EXPECT_FALSE(table.value().at(1).alias);
    EXPECT_TRUE(fails_with(parse_tensor_table(bytes, 64, false), ErrorCode::kMalformed, tail == 0 ? "F20" : "F33"));
  }
  EXPECT_TRUE(
      fails_with(parse_tensor_table(newer_tensor_table(kMaxEntrySize), 64, true), ErrorCode::kMalformed, "F33"));
}

TEST(NewerFields, DoNotKeepAFileFromBeingVerifiedAndReported) {
  const support::TempDir folder;
  const std::string path = folder.file("newer.fatctx");
  support::write_file(path, newer_file());

  const auto opened = Container::open(path);
  const auto verified = verify_file(path);

  ASSERT_TRUE(is_ok(opened));
  EXPECT_EQ(support::report_of(opened.value()).format_version, "1.7");
  EXPECT_EQ(support::report_of(opened.value()).newer_features, "compat 0x10000000000");
  EXPECT_TRUE(is_ok(opened.value().acquire("weights")));
  const RecordInfo* unknown = nullptr;
  for (const RecordInfo& record : support::records_in(opened.value())) {
    if (record.name == "of a newer version") unknown = &record;
  }
  ASSERT_NE(unknown, nullptr);
  EXPECT_FALSE(unknown->supported);
  ASSERT_TRUE(is_ok(verified));
  EXPECT_TRUE(verified.value().findings.empty());
}

}  // namespace newer_fields_test
}  // namespace fatctx::container
