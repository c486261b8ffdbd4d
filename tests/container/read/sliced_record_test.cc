// Records of several slices, as the format layer reads them: whole, in order, and every byte checked.
#include <gtest/gtest.h>

#include <algorithm>

#include "container/read/leaves.h"
#include "container/read/opened_file.h"
#include "container/read/pieces.h"
#include "container/read/record_ranges.h"
#include "mapping/buffer_file.h"
#include "support/result_matchers.h"
#include "support/sliced_container.h"

namespace fatctx::container {
namespace sliced_record_test {

using support::Bytes;
using support::fails_with;
using support::HostileFile;
using support::is_ok;
using support::kGranule;
using support::sliced;
using support::SlicedContainer;

std::uint64_t place_of(const Opened& file, std::string_view name, std::uint64_t offset) {
  return place_in_file(file.toc.toc, file.record(name), offset);
}

SlicedContainer every_order() {
  SlicedContainer file({support::pattern(40 * kGranule, 1), support::pattern(20 * kGranule, 2)});
  file.add(sliced("reverse", {{{8 * kGranule, kGranule}}, {{4 * kGranule, 2 * kGranule}}, {{0, kGranule}}}));
  file.add(sliced("neighbours", {{{kGranule, kGranule}}, {{2 * kGranule, kGranule}}, {{3 * kGranule, 100}}}));
  file.add(sliced("two stores", {{{30 * kGranule, kGranule}, 0}, {{5 * kGranule, kGranule}, 1}, {{0, 2'000}, 1}}));
  file.add(
      sliced("the same again", {{{9 * kGranule, kGranule}}, {{9 * kGranule, kGranule}}, {{9 * kGranule, kGranule}}}));
  return file;
}

TEST(SlicedRecord, BytesComeInTheOrderOfTheSlices) {
  const SlicedContainer made = every_order();
  const Opened file(made.bytes());
  for (const char* name : {"reverse", "neighbours", "two stores", "the same again"}) {
    EXPECT_TRUE(file.record(name).supported) << name;
    const auto streamed = file.bytes_of(name);
    ASSERT_TRUE(is_ok(streamed)) << name;
    EXPECT_EQ(streamed.value(), made.expected(name)) << name;
    const auto read = read_metadata_record(file.file, file.toc.toc, file.record(name), WorkBudget(file.toc.toc));
    ASSERT_TRUE(is_ok(read)) << name;
    EXPECT_EQ(read.value().bytes, made.expected(name)) << name;
  }
}

TEST(SlicedRecord, NeighboursInTheFileAreOnePiece) {
  const Opened file(every_order().bytes());
  const auto pieces = [&](std::string_view name) { return pieces_of(file.toc.toc, file.record(name)); };
  ASSERT_EQ(pieces("neighbours").size(), 1U);
  EXPECT_EQ(pieces("neighbours").front().in_file.size, 2 * kGranule + 100);
  EXPECT_EQ(pieces("neighbours").front().in_file.offset, file.record("neighbours").file_offset);
  ASSERT_EQ(pieces("reverse").size(), 3U);
  EXPECT_EQ(pieces("reverse")[1].offset_in_record, kGranule);
  EXPECT_EQ(pieces("reverse")[1].in_file.size, 2 * kGranule);
  EXPECT_EQ(pieces("the same again").size(), 3U);
  EXPECT_EQ(pieces("store 0").size(), 1U);
}

TEST(SlicedRecord, EveryByteHasItsPlace) {
  const SlicedContainer made = every_order();
  const Bytes bytes = made.bytes();
  const Opened file(bytes);
  for (const char* name : {"reverse", "neighbours", "two stores", "the same again", "store 1"}) {
    const Bytes expected = file.bytes_of(name).value();
    for (std::uint64_t at = 0; at < expected.size(); at += 61) {
      ASSERT_EQ(bytes[static_cast<std::size_t>(place_of(file, name, at))], expected[static_cast<std::size_t>(at)])
          << name << " " << at;
    }
  }
  const ByteRange last = pieces_of(file.toc.toc, file.record("two stores")).back().in_file;
  EXPECT_EQ(place_of(file, "two stores", file.record("two stores").size_bytes), last.offset + last.size);
}

TEST(SlicedRecord, LeavesUnderItAreCountedOnce) {
  // Leaves of 16 granules: slices 8, 4 and 0 are in the first one.
  const Opened file(every_order().bytes());
  const auto reverse = leaves_under(file.toc.toc, file.record("reverse"));
  ASSERT_EQ(reverse.size(), 1U);
  EXPECT_EQ(reverse.front().range.first, 0U);
  EXPECT_EQ(reverse.front().range.end, 1U);
  EXPECT_EQ(leaves_under(file.toc.toc, file.record("two stores")).size(), 2U);
}

TEST(SlicedRecord, AWholeFileOfThemVerifies) {
  const Opened file(every_order().bytes());
  const auto report = verify_container(file.file, {}).value();
  for (const VerifyFinding& finding : report.findings) ADD_FAILURE() << to_text(finding.error);
  for (const char* name : {"reverse", "neighbours", "two stores", "the same again"}) {
    EXPECT_TRUE(file.verify_one(name).value().findings.empty()) << name;
  }
}

TEST(SlicedRecord, ProgressOfOneRecordEndsAtItsTotal) {
  const Opened file(every_order().bytes());
  std::uint64_t last_done = 0;
  std::uint64_t last_total = 0;
  const auto count = [&](std::uint64_t done, std::uint64_t total) {
    last_done = done;
    last_total = total;
  };
  ASSERT_TRUE(is_ok(
      verify_record(file.file, file.toc.header, file.toc.toc, file.record("the same again"), {.progress = count})));
  EXPECT_EQ(last_done, last_total);
  EXPECT_GT(last_done, 0U);
}

TEST(SlicedRecord, DamageInAnySliceIsFoundAndNothingOfItHandedOn) {
  const SlicedContainer made = every_order();
  for (const std::uint64_t at : {std::uint64_t{0}, kGranule, 3 * kGranule + 5}) {
    Bytes damaged = made.bytes();
    const std::uint64_t place = place_of(Opened(damaged), "reverse", at);
    damaged[static_cast<std::size_t>(place)] ^= std::byte{1};
    const Opened file(damaged);
    EXPECT_TRUE(fails_with(file.bytes_of("reverse"), ErrorCode::kChecksumMismatch, "F26")) << at;
    EXPECT_EQ(file.verify_one("reverse").value().findings.size(), 2U) << "the leaf, once, and the hash of the record";
    EXPECT_FALSE(verify_container(file.file, {}).value().findings.empty());
    EXPECT_TRUE(file.verify_one("two stores").value().findings.empty()) << "its slices lie under other leaves";
  }
}

TEST(SlicedRecord, SlicesInAnotherOrderAreNotTheRecord) {
  HostileFile tables = every_order().tables();
  const container::RecordEntry& entry = SlicedContainer::record_named(tables, "reverse");
  std::swap(tables.slices[entry.first_slice], tables.slices[entry.first_slice + 2]);
  const Opened file(tables.bytes());
  EXPECT_TRUE(fails_with(file.bytes_of("reverse"), ErrorCode::kChecksumMismatch, "F37"));
  EXPECT_EQ(file.verify_one("reverse").value().findings.size(), 1U);
  EXPECT_EQ(verify_container(file.file, {}).value().findings.size(), 1U);
}

TEST(SlicedRecord, WhatFollowsAShortLastSliceMustBeZero) {
  HostileFile tables = every_order().tables();
  const container::RecordEntry& entry = SlicedContainer::record_named(tables, "neighbours");
  const container::SliceEntry last = tables.slices[entry.first_slice + 2];
  const std::uint64_t behind = tables.segments[last.segment].offset + last.offset_in_segment + last.size;
  tables.in_payload = [behind](Bytes& file) { file[static_cast<std::size_t>(behind) + 7] = std::byte{1}; };
  tables.rehash_payload = true;
  const Opened file(tables.bytes());
  const auto one = file.verify_one("neighbours").value();
  ASSERT_EQ(one.findings.size(), 1U);
  EXPECT_EQ(one.findings.front().error.where.rule, "F35");
  EXPECT_EQ(one.findings.front().error.where.file_offset, behind + 7);
  const auto all = verify_container(file.file, {}).value();
  ASSERT_EQ(all.findings.size(), 1U) << "the store was hashed anew";
  EXPECT_EQ(all.findings.front().error.where.rule, "F35");
  EXPECT_TRUE(is_ok(file.bytes_of("neighbours"))) << "no byte of the record itself is wrong";
}

TEST(SlicedRecord, WrongSlicesAreRefused) {
  struct Row {
    const char* what;
    void (*change)(HostileFile&, container::RecordEntry&);
    const char* rule;
  };
  const Row rows[] = {
      {"off the granule", [](auto& f, auto& r) { f.slices[r.first_slice + 1].offset_in_segment = 4 * kGranule + 64; },
       "F38"},
      {"a short one in the middle",
       [](auto& f, auto& r) {
         f.slices[r.first_slice + 1].size = kGranule + 1;
         r.stored_size = r.logical_size = 3 * kGranule + 1;
       },
       "F38"},
      {"behind the end of the segment",
       [](auto& f, auto& r) { f.slices[r.first_slice + 1].offset_in_segment = 39 * kGranule; }, "F38"},
      {"of a segment that is not there", [](auto& f, auto& r) { f.slices[r.first_slice].segment = 999; }, "F38"},
      {"of the leaf hashes",
       [](auto& f, auto& r) {
         f.slices[r.first_slice].segment = f.segments[f.slices[r.first_slice].segment].leaves_segment;
       },
       "F38"},
      {"not as many bytes as it says", [](auto&, auto& r) { r.stored_size = r.logical_size = 5 * kGranule; }, "F38"},
      {"empty", [](auto& f, auto& r) { f.slices[r.first_slice].size = 0; }, "F38"},
  };
  for (const Row& row : rows) {
    HostileFile tables = every_order().tables();
    row.change(tables, SlicedContainer::record_named(tables, "reverse"));
    const Bytes bytes = tables.bytes();
    const mapping::BufferFile file(bytes, nullptr);
    const auto opened = read_toc(file, bytes.size());
    ASSERT_FALSE(opened.ok()) << row.what;
    EXPECT_EQ(opened.error().where.rule, row.rule) << row.what << ": " << to_text(opened.error());
  }
}

TEST(SlicedRecord, ATocOfThousandsOfSlicesIsRead) {
  SlicedContainer made({support::pattern(64 * kGranule, 3)});
  std::vector<support::StoreSlice> slices;
  for (std::size_t i = 0; i < 4096; ++i) slices.push_back({{(i * 7 % 64) * kGranule, kGranule}});
  made.add(sliced("many", std::move(slices)));
  const Opened file(made.bytes());
  EXPECT_EQ(file.record("many").slice_count, 4096U);
  EXPECT_EQ(pieces_of(file.toc.toc, file.record("many")).size(), 4096U);
  const auto streamed = file.bytes_of("many");
  ASSERT_TRUE(is_ok(streamed));
  EXPECT_EQ(streamed.value(), made.expected("many"));
}

TEST(RecordRanges, ARangeThatLeavesTheRecordIsRefused) {
  const Opened opened(support::unsealed_sample());
  const RecordInfo& record = opened.record("weights");
  RecordRanges ranges(opened.file, opened.toc.toc, WorkBudget(opened.toc.toc));
  support::Bytes out(3);
  EXPECT_TRUE(is_ok(ranges.read(record, record.size_bytes - 3, out)));
  EXPECT_TRUE(fails_with(ranges.read(record, record.size_bytes - 2, out), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(ranges.read(record, UINT64_MAX - 1, out), ErrorCode::kMalformed));
}

}  // namespace sliced_record_test
}  // namespace fatctx::container
