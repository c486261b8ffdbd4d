// The reports of a repair from other containers, and what it asks of them: no byte more than it needs.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "container/edit/memory_source.h"
#include "container/format/disk_format.h"
#include "container/read/open.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace repair_reports_test {

using repair_support::Memory;
using repair_support::place_of;
using repair_support::repaired;
using support::Bytes;
using support::fails_with;
using support::FileCall;
using support::is_ok;
using support::MemoryFile;

const Bytes& packed_file() {
  static const Bytes bytes =
      support::packed_bytes({support::binary_record("b", "v73", support::pattern(10 * kLeafSize, 1))});
  return bytes;
}

TEST(RepairReports, AFileThatWasCutIsToldSo) {
  const Bytes whole = packed_file();
  for (const bool dry_run : {true, false}) {
    MemoryFile file(Bytes(whole.begin(), whole.end() - 500));
    Memory source(whole);

    const auto report = repaired(file, source, {.dry_run = dry_run});

    ASSERT_TRUE(is_ok(report));
    ASSERT_FALSE(report.value().restored.empty());
    EXPECT_EQ(report.value().restored[0].what, "the end of the file");
    EXPECT_EQ(report.value().restored[0].range, (ByteRange{whole.size() - 500, 500}));
  }
}

class RepairOfTwoLeaves : public testing::Test {
 protected:
  static constexpr std::uint64_t kWrong[] = {3, 7};  // leaves

  RepairOfTwoLeaves() {
    for (const std::uint64_t leaf : kWrong) damaged_[static_cast<std::size_t>(at_ + leaf * kLeafSize)] ^= std::byte{1};
  }

  Bytes whole_ = packed_file();
  Bytes damaged_ = whole_;
  std::uint64_t at_ = place_of(whole_, "b").offset;
  // The header and the table.
  std::uint64_t opening_ = Memory::kOpening + read_header(MemoryFile(whole_), whole_.size()).value().toc_size;
  MemoryFile file_{Bytes()};
};

TEST_F(RepairOfTwoLeaves, AnEqualSegmentIsNotSearched) {
  for (const bool dry_run : {true, false}) {
    file_.bytes() = damaged_;
    Memory source(whole_);

    const auto report = repaired(file_, source, {.dry_run = dry_run});

    ASSERT_TRUE(is_ok(report));
    ASSERT_EQ(report.value().sources.size(), 1U);
    EXPECT_EQ(report.value().sources[0].ranges, 2U);
    EXPECT_EQ(report.value().sources[0].read_bytes, opening_ + 2 * kLeafSize);
  }
}

TEST_F(RepairOfTwoLeaves, ADryRunAsksNobodyForWhatIsPromised) {
  file_.bytes() = damaged_;
  Memory first(whole_);
  Memory second(whole_);
  RepairOptions options;
  options.dry_run = true;
  options.sources.push_back(first.source());

  const auto report = repaired(file_, second, options);

  ASSERT_TRUE(is_ok(report));
  EXPECT_EQ(report.value().sources.size(), 1U);
  EXPECT_EQ(second.reads, 0);
}

TEST_F(RepairOfTwoLeaves, TheReportCountsTheLeavesThatCameWrong) {
  for (const std::size_t lies : {1U, 2U}) {
    file_.bytes() = damaged_;
    Memory source(whole_);
    source.piece = kLeafSize;
    std::size_t given = 0;
    source.lie = [&](Bytes& part) {
      if (part.size() == kLeafSize && given++ < lies) part[0] ^= std::byte{2};
    };

    const auto report = repaired(file_, source);

    ASSERT_TRUE(is_ok(report));
    EXPECT_EQ(report.value().sources.at(0).problem.find(std::to_string(lies) + " of 2 leaves came with other bytes"),
              0U)
        << report.value().sources.at(0).problem;
  }
}

TEST_F(RepairOfTwoLeaves, ADiskThatFailsEndsTheReading) {
  file_.bytes() = damaged_;
  Memory clean(whole_);
  ASSERT_TRUE(is_ok(repaired(file_, clean)));
  const std::uint64_t writes = file_.calls(FileCall::kWrite);
  ASSERT_GE(writes, 2U);
  MemoryFile file(damaged_);
  file.fail(FileCall::kWrite, writes - 2, false);  // the first of the two leaves
  Memory source(whole_);

  EXPECT_TRUE(fails_with(repaired(file, source), ErrorCode::kIo));

  EXPECT_EQ(source.given, opening_ + kLeafSize) << "of the second leaf, nothing";
}

}  // namespace repair_reports_test
}  // namespace fatctx::container
