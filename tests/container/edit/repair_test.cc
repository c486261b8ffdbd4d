// Repair: every damaged copy of metadata is restored bit for bit, nothing else is written, and losses are reported.
#include "container/edit/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "container/edit/append.h"
#include "container/format/hash.h"
#include "container/read/leaves.h"
#include "container/read/open.h"
#include "container/read/opened_file.h"
#include "container/read/stored_rows.h"
#include "container/write/header_build.h"
#include "support/appended.h"
#include "support/large_form.h"
#include "support/rehash.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace repair_test {

using support::Bytes;
using support::fails_with;
using support::FileCall;
using support::is_ok;
using support::MemoryFile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Bytes& appended_sample() {
  static const Bytes bytes = [] {
    Bytes file = support::unsealed_sample();
    for (int i = 0; i < 2; ++i) {
      PackRecord record = support::binary_record("cpu-extra" + std::to_string(i), "extra" + std::to_string(i),
                                                 support::pattern(70'000, 50U + static_cast<unsigned>(i)));
      record.weights = {"weights"};
      auto done = support::append(std::move(file), {std::move(record)});
      if (!done.report.ok()) throw std::runtime_error(to_text(done.report.error()));
      file = std::move(done.bytes);
    }
    return file;
  }();
  return bytes;
}

Bytes small_sample() {
  PackOptions options;
  options.extent_log2 = kSmallExtentLog2;
  return support::packed_bytes(support::cpu_records(), std::move(options));
}

// Returns a file with SHA-256 beside XXH3.
const Bytes& digested_sample() {
  static const Bytes bytes = [] {
    PackOptions options;
    options.sha256 = true;
    return support::packed_bytes(support::cpu_records(), std::move(options));
  }();
  return bytes;
}

std::vector<std::string> names_of(const RepairReport& report) {
  std::vector<std::string> names;
  for (const RestoredRange& restored : report.restored) names.push_back(restored.what);
  return names;
}

std::vector<std::string> texts_of(const RepairReport& report) {
  std::vector<std::string> texts;
  for (const VerifyFinding& finding : report.remaining) texts.push_back(to_text(finding.error));
  return texts;
}

const Segment& segment_of(const Opened& opened, std::string_view name) {
  const Toc& toc = opened.toc.toc;
  return toc.segments[toc.slices[toc.forms[toc.index_of(opened.record(name))].first_slice].segment];
}

struct Repaired {
  Result<RepairReport> report;
  Bytes bytes;
  std::uint64_t writes = 0;
};

Repaired repaired(Bytes bytes, const RepairOptions& options = {}) {
  MemoryFile file(std::move(bytes));
  auto report = repair_file(file, "m.fatctx", options);
  return {std::move(report), std::move(file.bytes()), file.calls(FileCall::kWrite)};
}

// Returns the metadata that has two copies, or that the payload proves, in pieces within one page of 4 KiB. Leaf hashes
// of segments that no record uses any more are neither.
std::vector<ByteRange> metadata_pages(const Bytes& bytes) {
  const Opened opened(bytes);
  std::vector<ByteRange> ranges = {{0, opened.toc.header.form().size}};
  for (const std::uint64_t offset : opened.toc.header.toc_offset) {
    ranges.push_back({offset, opened.toc.header.toc_size});
  }
  for (const Generation& generation : opened.toc.toc.generations) {
    for (const std::uint64_t offset : copies_of(generation)) ranges.push_back({offset, generation.toc_size});
  }
  for (const Segment& segment : opened.toc.toc.segments) {
    if (segment.leaves_segment == kNoSegment) continue;
    ranges.push_back({offset_of_leaves(opened.toc.toc, segment), segment.leaf_count() * sizeof(DiskHash)});
  }
  for (std::size_t i = 0; i < opened.toc.toc.segments.size(); ++i) {
    const SegmentDigest digest = StoredRows(opened.toc.toc).segment_digest(i);
    if (digest.leaves_segment == kNoSegment) continue;
    ranges.push_back(
        {offset_of_leaves(opened.toc.toc, digest), opened.toc.toc.segments[i].leaf_count() * sizeof(DiskSha256)});
  }
  std::vector<ByteRange> pages;
  for (const ByteRange range : ranges) {
    for (std::uint64_t page = range.offset / kTocPageSize * kTocPageSize; page < range.offset + range.size;
         page += kTocPageSize) {
      pages.push_back(overlap({page, kTocPageSize}, range));
    }
  }
  return pages;
}

struct Damage {
  const char* name;
  // Returns the damaged content of a page, given its content and offset.
  Bytes (*of)(const Bytes& page, std::uint64_t offset);
};
const Damage kDamages[] = {
    {"zeros", [](const Bytes& page, std::uint64_t) { return Bytes(page.size()); }},
    {"ones", [](const Bytes& page, std::uint64_t) { return Bytes(page.size(), std::byte{0xFF}); }},
    {"junk",
     [](const Bytes& page, std::uint64_t offset) {
       return support::pattern(page.size(), static_cast<std::uint32_t>(offset / kTocPageSize) + 7);
     }},
    {"one bit",
     [](const Bytes& page, std::uint64_t) {
       Bytes damaged = page;
       damaged[damaged.size() / 3] ^= std::byte{4};
       return damaged;
     }},
};

const Damage kOlderCopies[] = {
    {"what stood there before the last append",
     [](const Bytes& page, std::uint64_t offset) {
       const Bytes& older = support::unsealed_sample();
       if (offset + page.size() > older.size()) return Bytes(page.size());
       const auto from = older.begin() + static_cast<std::ptrdiff_t>(offset);
       return Bytes(from, from + static_cast<std::ptrdiff_t>(page.size()));
     }},
};

// Returns the most pieces that a repair restores in a page: its sectors and the padding between them.
std::size_t pieces_in(const Bytes& file, std::uint64_t page) {
  const HeaderForm& form = header_form(support::struct_at<Prologue>(file, 0).extent_log2);
  if (page >= form.size) return 1;
  std::size_t sectors = 0;
  const auto count = [&](std::uint64_t sector) { sectors += sector / kTocPageSize == page / kTocPageSize ? 1U : 0U; };
  std::for_each(form.prologues.begin(), form.prologues.end(), count);
  std::for_each(form.slots.begin(), form.slots.end(), count);
  return 2 * sectors + 1;
}

void expect_every_page_comes_back(const Bytes& whole, std::span<const Damage> damages) {
  std::size_t damaged_pages = 0;
  for (const ByteRange range : metadata_pages(whole)) {
    for (const Damage& damage : damages) {
      const auto at = static_cast<std::ptrdiff_t>(range.offset);
      const Bytes page(whole.begin() + at, whole.begin() + at + static_cast<std::ptrdiff_t>(range.size));
      Bytes damaged = whole;
      const Bytes junk = damage.of(page, range.offset);
      std::copy(junk.begin(), junk.end(), damaged.begin() + at);
      if (damaged == whole) continue;
      ++damaged_pages;

      const Repaired done = repaired(damaged);

      SCOPED_TRACE(std::string(damage.name) + " at " + std::to_string(range.offset));
      ASSERT_TRUE(is_ok(done.report));
      EXPECT_LE(done.report.value().restored.size(), pieces_in(whole, range.offset))
          << ::testing::PrintToString(names_of(done.report.value()));
      EXPECT_THAT(texts_of(done.report.value()), IsEmpty());
      ASSERT_TRUE(done.bytes == whole);
    }
  }
  EXPECT_GE(damaged_pages, 2U);
}

void damage(Bytes& bytes, std::uint64_t offset) { bytes[static_cast<std::size_t>(offset) + 9] ^= std::byte{0x40}; }

TEST(Repair, EveryDamagedPageOfAFreshFileComesBackBitForBit) {
  expect_every_page_comes_back(support::unsealed_sample(), kDamages);
}

TEST(Repair, EveryDamagedPageOfASealedFileComesBackBitForBit) {
  expect_every_page_comes_back(support::sealed_sample(), kDamages);
}

TEST(Repair, EveryDamagedPageOfAnAppendedFileComesBackBitForBit) {
  expect_every_page_comes_back(appended_sample(), kDamages);
  expect_every_page_comes_back(appended_sample(), kOlderCopies);
}

TEST(Repair, EveryDamagedPageOfASmallFileComesBackBitForBit) {
  const Bytes small = small_sample();
  expect_every_page_comes_back(small, kDamages);
  const support::Appended appended =
      support::append(small, {support::binary_record("cpu-extra", "extra", support::pattern(70'000, 50U))});
  ASSERT_TRUE(is_ok(appended.report));
  expect_every_page_comes_back(appended.bytes, kDamages);
}

TEST(Repair, EveryDamagedPageOfAFileWithDigestsComesBackBitForBit) {
  expect_every_page_comes_back(digested_sample(), kDamages);
  const support::Appended appended =
      support::append(digested_sample(), {support::binary_record("cpu-extra", "extra", support::pattern(70'000, 50U))});
  ASSERT_TRUE(is_ok(appended.report));
  expect_every_page_comes_back(appended.bytes, kDamages);
}

TEST(Repair, LeafHashesOfBothKindsAreRestoredEachByItself) {
  const Bytes& whole = digested_sample();
  const Opened opened(whole);
  const Toc& toc = opened.toc.toc;
  const auto index = static_cast<std::size_t>(&segment_of(opened, "weights") - toc.segments.data());
  const SegmentDigest digest = StoredRows(toc).segment_digest(index);
  const std::uint64_t xxh3 = offset_of_leaves(toc, toc.segments[index]);
  const std::uint64_t sha256 = offset_of_leaves(toc, digest);
  Bytes damaged = whole;
  damage(damaged, xxh3);
  damage(damaged, sha256);

  const Repaired done = repaired(damaged);

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_THAT(names_of(done.report.value()),
              ElementsAre("leaf hashes of record 5 \"weights\"", "SHA-256 leaf hashes of record 5 \"weights\""));
  EXPECT_EQ(done.report.value().restored[0].range, (ByteRange{xxh3, 3 * sizeof(DiskHash)}));
  EXPECT_EQ(done.report.value().restored[1].range, (ByteRange{sha256, 3 * sizeof(DiskSha256)}));
  EXPECT_THAT(texts_of(done.report.value()), IsEmpty());
  EXPECT_TRUE(done.bytes == whole);

  // With damaged payload as well neither can be confirmed.
  damage(damaged, toc.segments[index].offset + 70'000);
  const Repaired given_up = repaired(damaged);
  ASSERT_TRUE(is_ok(given_up.report));
  EXPECT_THAT(names_of(given_up.report.value()), IsEmpty());
  EXPECT_THAT(texts_of(given_up.report.value()), Not(IsEmpty()));
  EXPECT_TRUE(given_up.bytes == damaged);
}

TEST(Repair, AFileWithoutDamageStaysAsItIs) {
  for (const Bytes& whole :
       {support::unsealed_sample(), support::sealed_sample(), appended_sample(), small_sample(), digested_sample()}) {
    const Repaired done = repaired(whole);
    ASSERT_TRUE(is_ok(done.report));
    EXPECT_THAT(names_of(done.report.value()), IsEmpty());
    EXPECT_THAT(texts_of(done.report.value()), IsEmpty());
    EXPECT_GT(done.report.value().checked_bytes, 0U);
    EXPECT_TRUE(done.bytes == whole);
  }
}

TEST(Repair, OneOfEveryKindIsRestoredAtOnceAndSaid) {
  const Bytes& whole = appended_sample();
  const Opened opened(whole);
  const Header& header = opened.toc.header;
  const Generation& first = opened.toc.toc.generations.front();
  const Segment& weights = segment_of(opened, "weights");
  const std::uint64_t leaves = offset_of_leaves(opened.toc.toc, weights);
  Bytes damaged = whole;
  for (const std::uint64_t offset : {kPrologueOffsets[1], kSlotOffsets[0], kSlotOffsets[3], std::uint64_t{0x5000},
                                     std::uint64_t{0xF000}, header.toc_offset[0], copies_of(first)[1], leaves}) {
    damage(damaged, offset);
  }

  const Repaired dry = repaired(damaged, {.dry_run = true});
  const Repaired done = repaired(damaged);

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_THAT(names_of(done.report.value()),
              ElementsAre("slot B1", "prologue copy 1", "slot A0", "toc copy 0", "header padding", "header padding",
                          "toc copy 1 of generation 1", "leaf hashes of record 5 \"weights\""));
  EXPECT_EQ(done.report.value().restored[2].range, (ByteRange{0x1000, 512}));
  EXPECT_EQ(done.report.value().restored[3].range, (ByteRange{header.toc_offset[0], header.toc_size}));
  EXPECT_EQ(done.report.value().restored[5].range, (ByteRange{0xF000, 4096}));
  EXPECT_EQ(done.report.value().restored[7].range, (ByteRange{leaves, weights.leaf_count() * 16}));
  EXPECT_EQ(done.report.value().generation, 3U);
  EXPECT_THAT(texts_of(done.report.value()), IsEmpty());
  EXPECT_TRUE(done.bytes == whole);

  ASSERT_TRUE(is_ok(dry.report));
  EXPECT_TRUE(dry.report.value().dry_run);
  EXPECT_EQ(names_of(dry.report.value()), names_of(done.report.value()));
  EXPECT_THAT(texts_of(dry.report.value()), IsEmpty()) << "it says how the file would be";
  EXPECT_EQ(dry.writes, 0U);
  EXPECT_TRUE(dry.bytes == damaged);
}

TEST(Repair, AnOvertakenMirrorIsWrittenAnewFromTheOneThatCounts) {
  // A crash between the two mirrors of an append leaves one of them two generations behind.
  for (const std::size_t index : {std::size_t{0}, std::size_t{2}}) {
    const Bytes& whole = appended_sample();
    const Bytes& older = support::unsealed_sample();
    Bytes crashed = whole;
    const auto offset = static_cast<std::ptrdiff_t>(kSlotOffsets[index]);
    std::copy(older.begin() + offset, older.begin() + offset + kSectorSize, crashed.begin() + offset);
    ASSERT_FALSE(crashed == whole);

    const Repaired done = repaired(crashed);

    ASSERT_TRUE(is_ok(done.report));
    EXPECT_THAT(names_of(done.report.value()), ElementsAre(index == 0 ? "slot A0" : "slot A1"));
    EXPECT_TRUE(done.bytes == whole);
  }
}

TEST(Repair, APairWithoutAGoodSlotIsLeftAloneAndNamed) {
  Bytes damaged = support::unsealed_sample();
  damage(damaged, kSlotOffsets[1]);
  damage(damaged, kSlotOffsets[3]);
  damage(damaged, kPrologueOffsets[0]);

  const Repaired done = repaired(damaged);

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_THAT(names_of(done.report.value()), ElementsAre("prologue copy 0"));
  EXPECT_THAT(texts_of(done.report.value()),
              ElementsAre(AllOf(HasSubstr("slot B0 is damaged"), HasSubstr("so is its mirror")),
                          AllOf(HasSubstr("slot B1 is damaged"), HasSubstr("so is its mirror"))));
  for (const std::uint64_t offset : {kSlotOffsets[1], kSlotOffsets[3]}) {
    EXPECT_TRUE(std::equal(damaged.begin() + static_cast<std::ptrdiff_t>(offset),
                           damaged.begin() + static_cast<std::ptrdiff_t>(offset + kSectorSize),
                           done.bytes.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
}

TEST(Repair, DamagedPayloadIsNamedAndNotTouched) {
  Bytes damaged = support::unsealed_sample();
  const Opened opened(support::unsealed_sample());
  damage(damaged, opened.record("weights").file_offset + 70'000);

  const Repaired done = repaired(damaged);

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_THAT(names_of(done.report.value()), IsEmpty());
  EXPECT_THAT(texts_of(done.report.value()), ElementsAre(HasSubstr("record 5 \"weights\": bytes")));
  EXPECT_TRUE(done.bytes == damaged);
}

TEST(Repair, LeafHashesWhosePayloadIsDamagedTooAreNotMadeUp) {
  Bytes damaged = support::unsealed_sample();
  const Opened opened(support::unsealed_sample());
  const Segment& weights = segment_of(opened, "weights");
  damage(damaged, weights.offset + 70'000);
  damage(damaged, offset_of_leaves(opened.toc.toc, weights));

  const Repaired done = repaired(damaged);

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_THAT(names_of(done.report.value()), IsEmpty());
  EXPECT_THAT(texts_of(done.report.value()), Not(IsEmpty()));
  EXPECT_TRUE(done.bytes == damaged);
}

TEST(Repair, AFileThatDoesNotOpenIsAnErrorThatSaysWhatIsLost) {
  Bytes both_prologues = support::unsealed_sample();
  damage(both_prologues, kPrologueOffsets[0]);
  damage(both_prologues, kPrologueOffsets[1]);
  Bytes both_tables = support::unsealed_sample();
  for (const std::uint64_t offset : Opened(both_tables).toc.header.toc_offset) damage(both_tables, offset);
  Bytes cut = support::unsealed_sample();
  cut.resize(cut.size() - 1);

  for (const auto& [lost, rule] : {std::pair(both_prologues, "F2"), std::pair(both_tables, "F13")}) {
    const Repaired done = repaired(lost);
    ASSERT_TRUE(fails_with(done.report, ErrorCode::kChecksumMismatch, rule));
    EXPECT_THAT(done.report.error().message, HasSubstr("fetch the file again"));
    EXPECT_TRUE(done.bytes == lost);
  }
  EXPECT_TRUE(fails_with(repaired(cut).report, ErrorCode::kTruncated, "F10"));
  EXPECT_TRUE(fails_with(repaired(support::pattern(70'000, 3)).report, ErrorCode::kBadMagic, "F1"));
}

// Returns a file with six things to restore, so that a repair does six writes and six syncs.
Bytes much_damaged() {
  Bytes damaged = appended_sample();
  const Opened opened(damaged);
  for (const std::uint64_t offset : {kPrologueOffsets[0], kSlotOffsets[2], kSlotOffsets[1], std::uint64_t{0x2000},
                                     opened.toc.header.toc_offset[1], copies_of(opened.toc.toc.generations[1])[0]}) {
    damage(damaged, offset);
  }
  return damaged;
}

TEST(Repair, EveryFailureOfAWriteOrSyncIsAnErrorAndTheFileOpensAsBeforeOrBetter) {
  const Bytes damaged = much_damaged();
  const std::uint32_t degraded_before = Opened(damaged).toc.header.degraded;
  for (const auto& [call, for_ever] : {std::pair{FileCall::kWrite, true},
                                       {FileCall::kWrite, false},
                                       {FileCall::kSync, true},
                                       {FileCall::kSync, false},
                                       {FileCall::kRead, true}}) {
    for (std::uint64_t nth = 0;; ++nth) {
      MemoryFile file(damaged);
      file.fail(call, nth, for_ever);
      const auto report = repair_file(file, "m.fatctx", {});
      const Opened after(file.bytes());
      EXPECT_EQ(after.toc.header.generation, 3U);
      EXPECT_EQ(after.toc.header.degraded & ~degraded_before, 0U) << "nothing else is damaged now";
      if (report.ok()) {
        EXPECT_LE(file.calls(call), nth) << "the call has failed";
        EXPECT_GE(nth, call == FileCall::kRead ? 20U : call == FileCall::kWrite ? 6U : 2U);
        EXPECT_TRUE(file.bytes() == appended_sample());
        break;
      }
      EXPECT_TRUE(fails_with(report, ErrorCode::kIo)) << nth;
    }
  }
}

void expect_restored(const RepairReport& report, const Bytes& bytes) {
  for (const RestoredRange& restored : report.restored) {
    const auto at = static_cast<std::ptrdiff_t>(restored.range.offset);
    const auto end = at + static_cast<std::ptrdiff_t>(restored.range.size);
    EXPECT_TRUE(std::equal(bytes.begin() + at, bytes.begin() + end, appended_sample().begin() + at)) << restored.what;
  }
}

TEST(Repair, AReadThatFailsOnceIsAnErrorOfItsOwnAndNoDamage) {
  const Bytes damaged = much_damaged();
  const std::uint32_t degraded_before = Opened(damaged).toc.header.degraded;
  for (const bool dry_run : {true, false}) {
    bool met = true;
    for (std::uint64_t nth = 0; met; ++nth) {
      MemoryFile file(damaged);
      file.fail(FileCall::kRead, nth, false);
      const auto report = repair_file(file, "m.fatctx", {.dry_run = dry_run, .threads = 1});
      met = file.calls(FileCall::kRead) > nth;
      SCOPED_TRACE(std::to_string(nth) + (dry_run ? ", dry" : ""));
      if (report.ok()) {
        for (const std::string& text : texts_of(report.value())) {
          EXPECT_THAT(text, HasSubstr("unreadable")) << "what could not be read was taken for damage";
        }
      } else if (report.error().where.rule !=
                 "F13") {  // the only good copy of the table is damaged if it is unreadable
        EXPECT_TRUE(fails_with(report, ErrorCode::kIo));
        EXPECT_THAT(report.error().message, HasSubstr("a fault of the test"));
        EXPECT_THAT(report.error().message, Not(HasSubstr("nothing in the file says"))) << "it is no damage";
      }
      EXPECT_TRUE(met || report.ok());
      if (dry_run) {
        EXPECT_TRUE(file.bytes() == damaged);
      } else {
        const Opened after(file.bytes());
        EXPECT_EQ(after.toc.header.generation, 3U);
        EXPECT_EQ(after.toc.header.degraded & ~degraded_before, 0U) << "nothing else is damaged now";
        if (report.ok()) expect_restored(report.value(), file.bytes());
      }
      if (HasFailure()) return;
    }
  }
}

TEST(Repair, PayloadThatCannotBeReadIsNotTakenForDamaged) {
  Bytes damaged = appended_sample();
  const Opened opened(damaged);
  damage(damaged, offset_of_leaves(opened.toc.toc, segment_of(opened, "weights")));
  bool met = true;
  for (std::uint64_t nth = 0; met; ++nth) {
    SCOPED_TRACE(nth);
    MemoryFile file(damaged);
    file.fail(FileCall::kRead, nth, false);
    const auto report = repair_file(file, "m.fatctx", {.threads = 1});
    met = file.calls(FileCall::kRead) > nth;
    EXPECT_TRUE(!report.ok() || file.bytes() == appended_sample()) << "the leaf hashes were given up";
  }
}

// A file that accepts every write and keeps none of them.
class ForgetfulFile final : public mapping::OsFile {
 public:
  explicit ForgetfulFile(Bytes bytes) : file_(std::move(bytes)) {}
  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    return file_.read_at(offset, buffer);
  }
  Status write_at(std::uint64_t, ByteView) override { return Done{}; }
  Status allocate(std::uint64_t) override { return Done{}; }
  Status sync() override { return Done{}; }
  Result<mapping::FileIdentity> identity() const override { return file_.identity(); }
  int descriptor() const noexcept override { return -1; }

 private:
  MemoryFile file_;
};

TEST(Repair, ADiskThatLosesWhatWasWrittenIsFoundOut) {
  ForgetfulFile file(much_damaged());

  const auto report = repair_file(file, "m.fatctx", {});

  ASSERT_TRUE(fails_with(report, ErrorCode::kIo));
  EXPECT_THAT(report.error().message, AllOf(HasSubstr("slot A1"), HasSubstr("another disk")));
}

TEST(Repair, ADamagedCopyIsSyncedBeforeTheNextIsTouched) {
  MemoryFile file(much_damaged());
  ASSERT_TRUE(is_ok(repair_file(file, "m.fatctx", {})));
  // Then all slots are written once more.
  EXPECT_EQ(file.calls(FileCall::kWrite), 6U + 4U);
  EXPECT_EQ(file.calls(FileCall::kSync), 6U + 3U);
}

// The system may drop pages that it could not sync and still show them: a second repair must not trust the result of
// the first.
TEST(Repair, WhoseSyncFailedFindsTheSameDamageAgain) {
  Bytes damaged = appended_sample();
  damage(damaged, kSlotOffsets[2]);
  MemoryFile file(damaged);
  file.fail(FileCall::kSync, 0, false);
  ASSERT_TRUE(fails_with(repair_file(file, "m.fatctx", {}), ErrorCode::kIo));
  EXPECT_TRUE(file.bytes() == damaged);

  const auto again = repair_file(file, "m.fatctx", {});

  ASSERT_TRUE(is_ok(again));
  EXPECT_THAT(names_of(again.value()), ElementsAre("slot A1"));
  EXPECT_TRUE(file.bytes() == appended_sample());
}

// A whole file is written as well: content that reads well may exist in the page cache only.
TEST(Repair, WritesEverySlotAgainOneMirrorAfterTheOther) {
  MemoryFile file(appended_sample());
  ASSERT_TRUE(is_ok(repair_file(file, "m.fatctx", {})));
  EXPECT_EQ(file.calls(FileCall::kWrite), 4U);
  EXPECT_EQ(file.calls(FileCall::kSync), 3U);
  EXPECT_TRUE(file.bytes() == appended_sample());
}

TEST(Repair, ThatCannotSyncTheSecondMirrorLeavesItVisiblyBad) {
  MemoryFile file(appended_sample());
  file.fail(FileCall::kSync, 1, false);
  ASSERT_TRUE(fails_with(repair_file(file, "m.fatctx", {}), ErrorCode::kIo));
  EXPECT_EQ(degraded_texts(Opened(file.bytes()).toc.header.degraded), std::vector<std::string>{"slot A1"});
}

TEST(Repair, LeavesASealedFileThatIsWholeAlone) {
  MemoryFile file(support::sealed_sample());
  ASSERT_TRUE(is_ok(repair_file(file, "m.fatctx", {})));
  EXPECT_EQ(file.calls(FileCall::kWrite), 0U);
}

// Returns a file with generation 3 in pair A. Pair B, where 2 belongs, is VOID, as in a newly packed file.
Bytes with_pair_left_behind() {
  Bytes file = appended_sample();
  for (const std::size_t index : {1U, 3U}) {
    const HeaderSector page =
        void_slot_sector(static_cast<std::uint8_t>(index), Opened(appended_sample()).toc.header.uuid, 0);
    std::copy(page.begin(), page.end(), file.begin() + static_cast<std::ptrdiff_t>(kSlotOffsets[index]));
  }
  return file;
}

TEST(Repair, SettlesAPairThatFailedSyncsLeftBehind) {
  const Bytes left_behind = with_pair_left_behind();
  ASSERT_EQ(degraded_texts(Opened(left_behind).toc.header.degraded), std::vector<std::string>{"older slot pair"});

  const Repaired done = repaired(left_behind);

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_THAT(names_of(done.report.value()), ElementsAre("slot B0", "slot B1"));
  EXPECT_THAT(texts_of(done.report.value()), IsEmpty());
  EXPECT_TRUE(done.bytes == appended_sample());
}

// In the small form the page of a mirror holds a copy of the prologue, which a failed sync may have cost as well. So
// reads must not find it any more.
TEST(Repair, OfASmallFileThatCannotSyncASlotLeavesTheWholePageVisiblyBad) {
  MemoryFile file(small_sample());
  file.fail(FileCall::kSync, 2, false);  // that of the older pair
  ASSERT_TRUE(fails_with(repair_file(file, "m.fatctx", {}), ErrorCode::kIo));
  EXPECT_EQ(degraded_texts(Opened(file.bytes()).toc.header.degraded), std::vector<std::string>{"prologue copy 1"});

  ASSERT_TRUE(is_ok(repair_file(file, "m.fatctx", {})));
  EXPECT_TRUE(file.bytes() == small_sample());
}

// The damaged slot's mirror is whole but old: it does not tell the right content.
TEST(Repair, SettlesAPairThatWasLeftBehindAndLostAMirror) {
  for (const std::size_t index : {1U, 3U}) {
    Bytes left_behind = with_pair_left_behind();
    damage(left_behind, kSlotOffsets[index]);
    damage(left_behind, kPrologueOffsets[1]);

    const Repaired done = repaired(left_behind);

    ASSERT_TRUE(is_ok(done.report));
    EXPECT_THAT(names_of(done.report.value()), ElementsAre("prologue copy 1", "slot B0", "slot B1"));
    EXPECT_THAT(texts_of(done.report.value()), IsEmpty());
    EXPECT_TRUE(done.bytes == appended_sample());
  }
}

TEST(Repair, PaddingBehindTheHeaderIsZeroAgain) {
  const Bytes& whole = appended_sample();
  const Opened opened(whole);
  const Header& header = opened.toc.header;
  const Segment& weights = segment_of(opened, "weights");
  const std::uint64_t behind = weights.offset + weights.size;
  ASSERT_NE(behind % 4096, 0U);
  Bytes damaged = whole;
  for (const std::uint64_t offset : {header.toc_offset[0] + header.toc_size, behind, behind + 40}) {
    damaged[static_cast<std::size_t>(offset)] = std::byte{7};
  }
  const Repaired dry = repaired(damaged, {.dry_run = true});
  EXPECT_TRUE(dry.bytes == damaged);
  EXPECT_THAT(names_of(dry.report.value()), ElementsAre("padding", "padding"));
  EXPECT_THAT(texts_of(dry.report.value()), IsEmpty());

  const Repaired done = repaired(damaged);

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_THAT(names_of(done.report.value()), ElementsAre("padding", "padding"));
  EXPECT_EQ(done.report.value().restored[0].range, (ByteRange{behind, 41})) << "and no byte beside the wrong ones";
  EXPECT_EQ(done.report.value().restored[1].range, (ByteRange{header.toc_offset[0] + header.toc_size, 1}));
  EXPECT_THAT(texts_of(done.report.value()), IsEmpty());
  EXPECT_TRUE(done.bytes == whole);
}

TEST(Repair, AnAppendRestoresTheCopiesItStandsOnAndRepairTheRest) {
  Bytes damaged = support::unsealed_sample();
  const Opened opened(damaged);
  for (const std::uint64_t offset :
       {kPrologueOffsets[1], kSlotOffsets[2], opened.toc.header.toc_offset[0], std::uint64_t{0xA000}}) {
    damage(damaged, offset);
  }
  const auto record = [] { return support::binary_record("cpu-new", "new", support::pattern(5'000, 77)); };

  const support::Appended onto_damaged = support::append(damaged, {record()});
  const support::Appended onto_whole = support::append(support::unsealed_sample(), {record()});

  ASSERT_TRUE(is_ok(onto_damaged.report));
  EXPECT_THAT(onto_damaged.report.value().restored, ElementsAre("slot A1", "prologue copy 1", "toc copy 0"));
  const Repaired done = repaired(onto_damaged.bytes);
  ASSERT_TRUE(is_ok(done.report));
  EXPECT_THAT(names_of(done.report.value()), ElementsAre("header padding"));
  EXPECT_TRUE(done.bytes == onto_whole.bytes);
}

}  // namespace repair_test
}  // namespace fatctx::container
