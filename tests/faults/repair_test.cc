// Repair of a file that this user may not write to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "container/format/disk_format.h"
#include "fatctx/repair.h"
#include "faults/os_faults.h"
#include "support/large_form.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace repair_faults_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using ::testing::HasSubstr;

// Root may write to every file, so the system's refusal is injected.
Result<RepairReport> repair_unwritable(const std::string& path) {
  const faults::Injected refused({.error_number = EACCES, .call = 0});
  auto report = repair(path);
  EXPECT_TRUE(refused.met());
  return report;
}

TEST(RepairOfAFileThatMayNotBeWritten, SaysThatAWholeFileIsWhole) {
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  support::write_file(path, support::sealed_sample());

  const auto report = repair_unwritable(path);

  ASSERT_TRUE(is_ok(report));
  EXPECT_EQ(report.value().path, path);
  EXPECT_FALSE(report.value().dry_run) << "nothing was left to do";
  EXPECT_TRUE(report.value().restored.empty());
  EXPECT_TRUE(report.value().remaining.empty());
  EXPECT_GT(report.value().checked_bytes, 0U);
}

TEST(RepairOfAFileThatMayNotBeWritten, NamesTheDamageAndTheRemedyAndWritesNothing) {
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  for (const bool more : {false, true}) {
    Bytes damaged = support::sealed_sample();
    damaged[container::kSlotOffsets[0] + 9] ^= std::byte{1};
    if (more) damaged[container::kPrologueOffsets[1] + 9] ^= std::byte{1};
    support::write_file(path, damaged);

    const auto report = repair_unwritable(path);

    ASSERT_TRUE(fails_with(report, ErrorCode::kOperationNotPermitted));
    EXPECT_THAT(report.error().message,
                HasSubstr(more ? "prologue copy 1 and more are damaged: allow writing with `chmod u+w` and repair again"
                               : "slot A0 is damaged: allow writing with `chmod u+w` and repair again"));
    EXPECT_TRUE(support::read_file(path) == damaged);
  }
}

TEST(RepairOfAFileThatMayNotBeWritten, AnotherErrorIsNotTakenForThat) {
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  support::write_file(path, support::sealed_sample());
  const faults::Injected refused({.error_number = EIO, .call = 0});
  EXPECT_TRUE(fails_with(repair(path), ErrorCode::kIo));
}

}  // namespace repair_faults_test
}  // namespace fatctx
