// A large table of contents through C: records by name, and the errors of calls that need a damaged page.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capi/c_model.h"
#include "fatctx/container.h"
#include "fatctx/info.h"
#include "support/pattern.h"
#include "support/sample_container.h"

namespace fatctx::capi::testing {
namespace large_table_test {

constexpr std::uint32_t kRecords = 500;

// A container whose table of contents has lost one page in both copies.
support::Bytes damaged_table(const std::string& path) {
  std::vector<PackRecord> records;
  for (std::uint32_t i = 0; i < kRecords; ++i) {
    records.push_back(
        support::plain_record(RecordType::kOpaque, "record " + std::to_string(i), support::pattern(9, i)));
  }
  support::write_file(path, support::packed_bytes(std::move(records)));
  support::Bytes bytes = support::read_file(path);
  const std::vector<FileExtent> extents = file_extents(Container::open(path).value()).value();
  for (const FileExtent& extent : extents) {
    if (!extent.kind.starts_with("toc")) continue;
    bytes[static_cast<std::size_t>(extent.range.offset + extent.range.size / 3)] ^= std::byte{1};
  }
  return bytes;
}

TEST_F(CModel, ALargeTableIsReadWhereItIsNeeded) {
  const support::TempDir folder;
  const std::string file = folder.file("large.fatctx");
  const support::Bytes bytes = damaged_table(file);
  const std::string damaged = folder.file("damaged.fatctx");
  support::write_file(damaged, bytes);

  fatctx_container container = {};
  ASSERT_EQ(fatctx_container_open(damaged.c_str(), nullptr, &container, &error), FATCTX_OK) << text_of(error);
  std::uint64_t count = 0;
  EXPECT_EQ(fatctx_container_record_count(container, &count, &error), FATCTX_OK);
  EXPECT_EQ(count, kRecords + 1);
  auto record = sized<fatctx_record_info>();
  std::uint32_t found = 0;
  for (std::uint32_t i = 0; i < kRecords; i += 10) {
    const std::string name = "record " + std::to_string(i);
    if (fatctx_container_find(container, name.c_str(), &record, &error) == FATCTX_OK) {
      EXPECT_EQ(record.size_bytes, 9U);
      ++found;
    } else {
      EXPECT_EQ(error.code, FATCTX_ERROR_CHECKSUM_MISMATCH);
    }
  }
  EXPECT_GT(found, 0U);
  EXPECT_EQ(fatctx_container_record_at(container, 0, &record, &error), FATCTX_ERROR_CHECKSUM_MISMATCH);
  auto report = sized<fatctx_open_report>();
  EXPECT_EQ(fatctx_container_report(container, &report, &error), FATCTX_ERROR_CHECKSUM_MISMATCH);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);

  auto options = sized<fatctx_open_options>();
  EXPECT_EQ(options.strict, 0U);
  options.strict = 1;
  EXPECT_EQ(fatctx_container_open(damaged.c_str(), &options, &container, &error), FATCTX_ERROR_CHECKSUM_MISMATCH);
  ASSERT_EQ(fatctx_container_open(file.c_str(), &options, &container, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(fatctx_container_report(container, &report, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(report.degraded_count, 0U);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

}  // namespace large_table_test
}  // namespace fatctx::capi::testing
