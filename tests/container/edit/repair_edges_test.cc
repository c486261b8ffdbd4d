// Repair from other containers when something goes wrong: a request to stop, a source that fails, any call of the file
// that fails. And what the report says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "container/edit/memory_source.h"
#include "container/edit/synced_file.h"
#include "container/format/disk_format.h"
#include "container/read/leaves.h"
#include "container/write/header_build.h"
#include "fatctx/rewrite.h"
#include "support/appended.h"
#include "support/rehash.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace repair_edges_test {

using repair_support::Memory;
using repair_support::place_of;
using repair_support::repaired;
using repair_support::spoil;
using repair_support::zero;
using support::Bytes;
using support::fails_with;
using support::FileCall;
using support::is_ok;
using support::MemoryFile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kLeaf = 65'536;

// A binary of exactly two leaves, and weights of four. Behind `before` new bytes no segment is equal as a whole.
std::vector<PackRecord> records(std::size_t before = 0) {
  const auto moved = [before](const Bytes& bytes) {
    Bytes all = support::pattern(before, static_cast<std::uint32_t>(bytes.size()));
    all.insert(all.end(), bytes.begin(), bytes.end());
    return all;
  };
  PackRecord binary = support::binary_record("cpu", "x86-64-v2", moved(support::pattern(2 * kLeaf, 1)));
  binary.weights = {"weights"};
  return {std::move(binary),
          support::plain_record(RecordType::kWeightBlob, "weights", moved(support::pattern(3 * kLeaf + 777, 2)))};
}

const Bytes& whole_file() {
  static const Bytes bytes = support::packed_bytes(records());
  return bytes;
}
const Bytes& file_with_sha256() {
  static const Bytes bytes = [] {
    PackOptions options;
    options.sha256 = true;
    return support::packed_bytes(records(), std::move(options));
  }();
  return bytes;
}
const Bytes& moved_file() {
  static const Bytes bytes = support::packed_bytes(records(kLeaf));
  return bytes;
}
// A later generation, which still has the table of the first one.
const Bytes& appended_file() {
  static const Bytes bytes =
      support::append(whole_file(),
                      {support::plain_record(RecordType::kOpaque, "more", support::pattern(3 * kLeaf, 5))})
          .bytes;
  return bytes;
}

std::vector<Segment> leaf_hashes_in(const Bytes& bytes) {
  const OpenedToc opened = read_toc(MemoryFile(bytes), bytes.size()).value();
  std::vector<Segment> found;
  for (const Segment& segment : opened.toc.segments) {
    if (segment.kind == SegmentKind::kLeaves) found.push_back(segment);
  }
  return found;
}

void spoil_leaf_hashes(Bytes& bytes) {
  for (const Segment& segment : leaf_hashes_in(bytes)) spoil(bytes, {segment.offset, segment.size});
}

void spoil_tables(Bytes& bytes) {
  const Header header = read_header(MemoryFile(bytes), bytes.size()).value();
  for (const std::uint64_t table : header.toc_offset) spoil(bytes, {table + 40, 100});
}

// A leaf of each record.
void spoil_payload(Bytes& bytes) {
  const Bytes whole = bytes;
  spoil(bytes, {place_of(whole, "cpu").offset, 9});
  spoil(bytes, {place_of(whole, "weights").offset + kLeaf, 10});
}

struct Case {
  const char* name;
  Bytes whole;
  Bytes damaged;
  Bytes source;
  bool source_has_all = true;  // false: it lacks the hashes that the next source is asked for as well
};

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"both tables", whole_file(), whole_file(), appended_file()},
      {"leaf hashes and payload", file_with_sha256(), file_with_sha256(), file_with_sha256()},
      {"payload that is elsewhere", whole_file(), whole_file(), moved_file()},
      {"the end", whole_file(), whole_file(), whole_file()},
      {"hashes that the payload proves", file_with_sha256(), file_with_sha256(), whole_file(), false}};
  spoil_tables(all[0].damaged);
  spoil_payload(all[1].damaged);
  Bytes hashes = all[1].whole;
  spoil_leaf_hashes(hashes);
  for (const Segment& segment : leaf_hashes_in(all[1].whole)) {
    std::copy_n(hashes.begin() + static_cast<std::ptrdiff_t>(segment.offset), segment.size,
                all[1].damaged.begin() + static_cast<std::ptrdiff_t>(segment.offset));
    if (segment.hash_algorithm == kHashSha256) zero(all[4].damaged, {segment.offset, segment.size});
  }
  spoil_payload(all[2].damaged);
  all[3].damaged.resize(all[3].damaged.size() - 2 * kLeaf);
  spoil(all[4].damaged, {place_of(all[4].whole, "weights").offset + kLeaf, 10});
  return all;
}

TEST(RepairEdges, ARequestToStopEndsTheRepairWhereverASourceAnswersSo) {
  for (const Case& one : cases()) {
    MemoryFile closed(one.damaged);
    Memory not_opened(one.source);
    not_opened.cannot_open = Error{ErrorCode::kCancelled, "it was cancelled"};
    EXPECT_TRUE(fails_with(repaired(closed, not_opened), ErrorCode::kCancelled)) << one.name;
    for (int nth = 0;; ++nth) {
      SCOPED_TRACE(std::string(one.name) + ", read " + std::to_string(nth));
      MemoryFile file(one.damaged);
      Memory source(one.source);
      source.code = ErrorCode::kCancelled;
      source.fails = [nth](int number, const std::vector<ByteRange>&) { return number >= nth; };
      const auto report = repaired(file, source);
      if (source.reads <= nth) {
        ASSERT_TRUE(is_ok(report));
        EXPECT_TRUE(file.bytes() == one.whole);
        EXPECT_GE(nth, 2);
        break;
      }
      ASSERT_TRUE(fails_with(report, ErrorCode::kCancelled));
    }
  }
}

TEST(RepairEdges, ASourceThatFailsAtAnyReadIsNamedAndTheNextOneServes) {
  for (const Case& one : cases()) {
    for (int nth = 0;; ++nth) {
      SCOPED_TRACE(std::string(one.name) + ", read " + std::to_string(nth));
      MemoryFile file(one.damaged);
      Memory failing(one.source);
      failing.fails = [nth](int number, const std::vector<ByteRange>&) { return number >= nth; };
      Memory good(one.source);
      RepairOptions options;
      options.sources = {failing.source()};

      const auto report = repaired(file, good, std::move(options));

      ASSERT_TRUE(is_ok(report));
      EXPECT_TRUE(file.bytes() == one.whole);
      EXPECT_THAT(report.value().remaining, IsEmpty());
      if (failing.reads <= nth) {
        EXPECT_EQ(report.value().sources.at(0).problem, "");
        EXPECT_TRUE(!one.source_has_all || good.reads == 0) << "nothing was left for it";
        break;
      }
      EXPECT_THAT(report.value().sources.at(0).problem, HasSubstr("the line is dead"));
    }
  }
}

// A leaf that cannot be read is neither wrong nor missing.
TEST(RepairEdges, AnyCallOfTheFileThatFailsIsToldAndTheNextRepairGoesOn) {
  for (const Case& one : cases()) {
    MemoryFile clean(one.damaged);
    Memory all(one.source);
    const auto wanted = repaired(clean, all);
    ASSERT_TRUE(is_ok(wanted)) << one.name;
    for (const FileCall call : {FileCall::kRead, FileCall::kWrite, FileCall::kSync}) {
      for (std::uint64_t nth = 0;; ++nth) {
        SCOPED_TRACE(std::string(one.name) + ", call " + std::to_string(nth) + " of kind " +
                     std::to_string(static_cast<int>(call)));
        MemoryFile file(one.damaged);
        file.fail(call, nth, false);
        Memory source(one.source);
        const auto report = repaired(file, source);
        if (file.calls(call) <= nth) {
          ASSERT_TRUE(is_ok(report));
          break;
        }
        if (report.ok()) {
          ASSERT_EQ(call, FileCall::kRead);
          EXPECT_LE(report.value().lacking_bytes, wanted.value().lacking_bytes);
          ASSERT_TRUE(!report.value().remaining.empty() || file.bytes() == one.whole);
        } else {
          ASSERT_TRUE(fails_with(report, ErrorCode::kIo));
          EXPECT_THAT(report.error().message, HasSubstr("a fault of the test"));
        }
        MemoryFile again(file.bytes());
        Memory same(one.source);
        ASSERT_TRUE(is_ok(repaired(again, same)));
        ASSERT_TRUE(again.bytes() == one.whole);
      }
    }
  }
}

// In the small form a page has a copy of the prologue and a slot, and both are written again.
TEST(RepairEdges, OfASmallFileEveryWriteAndSyncThatFailsIsTold) {
  PackOptions options;
  options.extent_log2 = kSmallExtentLog2;
  const Bytes whole = support::packed_bytes(support::cpu_records(), std::move(options));
  Bytes damaged = whole;
  const HeaderForm& form = read_header(MemoryFile(whole), whole.size()).value().form();
  for (const std::uint64_t sector : {form.prologues[1], form.slots[2]}) spoil(damaged, {sector + 9, 1});
  for (const FileCall call : {FileCall::kWrite, FileCall::kSync}) {
    for (std::uint64_t nth = 0;; ++nth) {
      MemoryFile file(damaged);
      file.fail(call, nth, false);
      const auto report = repair_file(file, "m.fatctx", {.threads = 1});
      if (file.calls(call) <= nth) {
        ASSERT_TRUE(is_ok(report));
        EXPECT_TRUE(file.bytes() == whole);
        EXPECT_GE(nth, 4U);
        break;
      }
      ASSERT_TRUE(fails_with(report, ErrorCode::kIo)) << nth;
      EXPECT_THAT(report.error().message, HasSubstr("a fault of the test"));
    }
  }
}

// A file that loses all writes to a range.
class LossyFile final : public mapping::OsFile {
 public:
  LossyFile(Bytes bytes, ByteRange lost) : file_(std::move(bytes)), lost_(lost) {}
  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    return file_.read_at(offset, buffer);
  }
  Status write_at(std::uint64_t offset, ByteView bytes) override {
    return overlap({offset, bytes.size()}, lost_).size != 0 ? Status(Done{}) : file_.write_at(offset, bytes);
  }
  Status allocate(std::uint64_t) override { return Done{}; }
  Status sync() override { return Done{}; }
  Result<mapping::FileIdentity> identity() const override { return file_.identity(); }
  int descriptor() const noexcept override { return -1; }

 private:
  MemoryFile file_;
  ByteRange lost_;
};

TEST(RepairEdges, ADiskThatLosesLeafHashesIsFoundOut) {
  const Case hashes = cases().at(1);
  for (const Segment& segment : leaf_hashes_in(hashes.whole)) {
    LossyFile file(hashes.damaged, {segment.offset, segment.size});
    Memory source(hashes.source);
    RepairOptions options{.threads = 1};
    options.sources = {source.source()};

    const auto report = repair_file(file, "m.fatctx", options);

    ASSERT_TRUE(fails_with(report, ErrorCode::kIo));
    EXPECT_THAT(report.error().message, AllOf(HasSubstr("leaf hashes of record"), HasSubstr("another disk")));
  }
}

TEST(RepairEdges, TheReportNamesTablesAndLeafHashesAndCountsTheirBytes) {
  const std::vector<Case> all = cases();
  MemoryFile file(all[0].damaged);
  Memory source(all[0].source);
  const auto tables = repaired(file, source);
  ASSERT_TRUE(is_ok(tables));
  const Header header = read_header(MemoryFile(whole_file()), whole_file().size()).value();
  ASSERT_EQ(tables.value().restored.size(), 2U);
  for (const std::size_t copy : {0U, 1U}) {
    EXPECT_EQ(tables.value().restored[copy].what, "toc copy " + std::to_string(copy));
    EXPECT_EQ(tables.value().restored[copy].range, (ByteRange{header.toc_offset[copy], header.toc_size}));
  }

  MemoryFile other(all[1].damaged);
  Memory other_source(all[1].source);
  const auto hashes = repaired(other, other_source);
  ASSERT_TRUE(is_ok(hashes));
  std::vector<std::string> names;
  std::uint64_t bytes = 0;
  for (const RestoredRange& one : hashes.value().restored) {
    names.push_back(one.what);
    bytes += one.range.size;
  }
  EXPECT_THAT(names, ElementsAre("leaf hashes of record 1 \"cpu\"", "SHA-256 leaf hashes of record 1 \"cpu\"",
                                 "leaf hashes of record 2 \"weights\"", "SHA-256 leaf hashes of record 2 \"weights\"",
                                 "payload of record 1 \"cpu\"", "payload of record 2 \"weights\""));
  EXPECT_EQ(hashes.value().sources.at(0).restored_bytes, bytes);
}

TEST(RepairEdges, HashesAreReadFromASourceAtOnce) {
  for (const std::size_t index : {1U, 2U}) {
    const Case one = cases().at(index);
    MemoryFile file(one.damaged);
    Memory source(one.source);
    ASSERT_TRUE(is_ok(repaired(file, source)));
    EXPECT_EQ(source.reads, 4) << "the first bytes, the table, the hashes and the payload; " << one.name;
  }
}

TEST(RepairEdges, HashesThatNobodyHasStayAsTheyAre) {
  const Case hashes = cases().at(1);
  MemoryFile file(hashes.damaged);
  Memory source(moved_file());

  const auto report = repaired(file, source);

  ASSERT_TRUE(is_ok(report));
  EXPECT_FALSE(report.value().remaining.empty());
  EXPECT_EQ(report.value().sources.at(0).restored_bytes, 0U);
  EXPECT_TRUE(file.bytes() == hashes.damaged);
}

TEST(RepairEdges, AFileThatWasCutStaysSoIfNoSourceCanBeOpened) {
  const Case cut = cases().at(3);
  MemoryFile file(cut.damaged);
  Memory no_container(Bytes(100'000, std::byte{7}));

  EXPECT_TRUE(fails_with(repaired(file, no_container), ErrorCode::kTruncated, "F10"));

  EXPECT_TRUE(file.bytes() == cut.damaged);
}

TEST(RepairEdges, AFileThatWasCutMayHaveHadTheLargestSizeOfAll) {
  Bytes damaged = whole_file();
  for (const std::size_t index : {0U, 2U}) {
    auto slot = support::struct_at<Slot>(damaged, kSlotOffsets[index]);
    slot.committed_end = kMaxFileSize;
    support::put_struct(damaged, kSlotOffsets[index], slot);
  }
  support::rehash_header(damaged);
  MemoryFile file(damaged);
  Memory source(whole_file());
  // Looked at in that size, it has a table that ends elsewhere.
  EXPECT_TRUE(fails_with(repaired(file, source), ErrorCode::kMalformed, "F17"));
  EXPECT_TRUE(file.bytes() == damaged);
}

TEST(RepairEdges, ADryRunStillTellsWhatNoSourceBrings) {
  Bytes damaged = whole_file();
  spoil_payload(damaged);
  for (const std::size_t index : {1U, 3U}) spoil(damaged, {kSlotOffsets[index] + 9, 1});
  MemoryFile file(damaged);
  Memory source(whole_file());

  const auto report = repaired(file, source, {.dry_run = true});

  ASSERT_TRUE(is_ok(report));
  std::vector<std::string> texts;
  for (const VerifyFinding& finding : report.value().remaining) texts.push_back(to_text(finding.error));
  EXPECT_THAT(texts, ElementsAre(HasSubstr("slot B0 is damaged"), HasSubstr("slot B1 is damaged")));
}

TEST(RepairEdges, BytesOfSeveralRecordsAreNamedAfterTheLastOfThem) {
  const Bytes same = support::pattern(3 * kLeaf, 4);
  const Bytes whole = support::packed_bytes({support::plain_record(RecordType::kOpaque, "a", same),
                                             support::plain_record(RecordType::kOpaque, "b", same),
                                             support::plain_record(RecordType::kOpaque, "c", same)});
  ASSERT_EQ(place_of(whole, "a"), place_of(whole, "c"));
  for (const std::uint64_t within : {std::size_t{0}, kLeaf}) {
    Bytes damaged = whole;
    spoil(damaged, {place_of(whole, "a").offset + within, 1});
    MemoryFile file(damaged);
    Memory source(whole);

    const auto report = repaired(file, source);

    ASSERT_TRUE(is_ok(report));
    ASSERT_EQ(report.value().restored.size(), 1U);
    EXPECT_THAT(report.value().restored[0].what, HasSubstr("\"c\""));
  }
}

// A file that was written anew has one earlier generation after an append, and none before that.
TEST(RepairEdges, APairThatStayedBehindIsSettledWithTheOnlyEarlierGeneration) {
  const support::TempDir folder;
  Bytes whole = appended_file();
  const auto append = [&](const char* name) {
    whole = support::append(std::move(whole), {support::plain_record(RecordType::kOpaque, name, Bytes(9))}).bytes;
  };
  append("one");
  support::write_file(folder.file("m"), whole);
  ASSERT_TRUE(is_ok(rewrite_container(folder.file("m"), folder.file("m"))));
  whole = support::read_file(folder.file("m"));
  append("two");
  const OpenedToc opened = read_toc(MemoryFile(whole), whole.size()).value();
  ASSERT_EQ(opened.toc.generations.size(), 1U);
  Bytes behind = whole;
  for (const std::size_t mirror : {0U, 2U}) {
    const std::size_t index = 1U - opened.header.pair + mirror;
    const HeaderSector sector =
        void_slot_sector(static_cast<std::uint8_t>(index), opened.header.uuid, opened.header.generation - 3);
    std::copy(sector.begin(), sector.end(), behind.begin() + static_cast<std::ptrdiff_t>(kSlotOffsets[index]));
  }
  ASSERT_FALSE(behind == whole);
  MemoryFile file(behind);

  const auto report = repair_file(file, "m.fatctx", {.threads = 1});

  ASSERT_TRUE(is_ok(report));
  EXPECT_EQ(report.value().restored.size(), 2U);
  EXPECT_THAT(report.value().remaining, IsEmpty());
  EXPECT_TRUE(file.bytes() == whole);
}

TEST(RepairEdges, AtMostSixteenMegabytesWaitForASync) {
  constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;
  const Bytes bytes(kMegabyte);
  MemoryFile file;
  SyncedFile synced(file);
  for (std::uint64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(file.calls(FileCall::kSync), 0U);
    ASSERT_TRUE(is_ok(synced.write_at(i * kMegabyte, bytes)));
  }
  EXPECT_EQ(file.calls(FileCall::kSync), 1U);
}

}  // namespace repair_edges_test
}  // namespace fatctx::container
