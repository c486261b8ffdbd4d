// Files of a version to come, 1.7, which this version opens, opens without changing, or refuses, by their feature bits
// (docs/format.md, section 10). tests/golden/README.md explains them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "source_dir.h"
#include "support/newer_file.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/temp_dir.h"

namespace fatctx::container {
namespace golden_newer_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

const std::string kFolder = FATCTX_SOURCE_DIR "/tests/golden/v1.7/";

Bytes file_with(std::uint64_t incompat, std::uint64_t ro_compat, std::uint64_t compat) {
  support::HostileFile file(support::unsealed_sample());
  file.prologue.incompat_features = incompat;
  file.prologue.ro_compat_features = ro_compat;
  file.prologue.compat_features = compat;
  support::fill_reserved(file);
  support::lengthen_rows(file);
  support::add_unknown_record(file);
  return file.bytes();
}

void expect_readable(const std::string& path) {
  const auto opened = Container::open(path);
  ASSERT_TRUE(is_ok(opened));
  EXPECT_EQ(support::report_of(opened.value()).format_version, "1.7");
  const auto weights = opened.value().acquire("weights");
  ASSERT_TRUE(is_ok(weights));
  EXPECT_TRUE(std::ranges::equal(weights.value().bytes(), support::pattern(support::kSampleWeightsSize, 11)));
}

// Returns the error of an append to a copy of the file, if there is one.
Status append_to_copy(const std::string& path) {
  const support::TempDir folder;
  const std::string copy = folder.file("copy.fatctx");
  std::filesystem::copy_file(path, copy);
  FATCTX_ASSIGN(Appender appender, Appender::open(copy));
  FATCTX_TRY(appender.add(support::plain_record(RecordType::kOpaque, "more", support::pattern(50, 5))));
  FATCTX_TRY(appender.commit());
  expect_readable(copy);
  return Done{};
}

TEST(GoldenOf17, WithCompatFieldsIsReadAndAppendedTo) {
  expect_readable(kFolder + "compat.fatctx");
  EXPECT_TRUE(is_ok(append_to_copy(kFolder + "compat.fatctx")));
}

TEST(GoldenOf17, WithRoCompatFieldsIsReadAndNotChanged) {
  expect_readable(kFolder + "ro_compat.fatctx");
  EXPECT_TRUE(fails_with(append_to_copy(kFolder + "ro_compat.fatctx"), ErrorCode::kUnsupported, "F3"));
}

TEST(GoldenOf17, WithIncompatFieldsIsRefused) {
  EXPECT_TRUE(fails_with(Container::open(kFolder + "incompat.fatctx"), ErrorCode::kUnsupported, "F3"));
}

// Makes the files and is not run as a test. It refuses to replace a file.
TEST(GoldenOf17, DISABLED_IsWritten) {
  const std::uint64_t bit = support::kNewerBit;
  struct File {
    const char* name;
    Bytes bytes;
  };
  const File files[] = {{"compat.fatctx", file_with(0, 0, bit)},
                        {"ro_compat.fatctx", file_with(0, bit, bit)},
                        {"incompat.fatctx", file_with(bit, 0, 0)}};
  for (const File& file : files) {
    ASSERT_FALSE(std::filesystem::exists(kFolder + file.name)) << "a golden file stays as it is";
    support::write_file(kFolder + file.name, file.bytes);
  }
}

}  // namespace golden_newer_test
}  // namespace fatctx::container
