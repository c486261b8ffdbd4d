// Repairing a container through C.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capi/c_model.h"
#include "container/format/disk_format.h"
#include "support/large_form.h"

namespace fatctx::capi::testing {
namespace repair_test {

struct Told {
  std::vector<std::string> restored;
  std::vector<int32_t> findings;
};

class CRepair : public CModel {
 protected:
  void damage(std::uint64_t offset) {
    Bytes bytes = support::read_file(path);
    bytes[static_cast<std::size_t>(offset)] ^= std::byte{1};
    support::write_file(path, bytes);
  }
  int32_t repair(uint32_t dry_run = 0, fatctx_progress progress = nullptr) {
    auto options = sized<fatctx_repair_options>();
    options.dry_run = dry_run;
    options.progress = progress;
    options.restored = [](void* user, fatctx_text what, uint64_t offset, uint64_t size) {
      static_cast<Told*>(user)->restored.push_back(std::string(view_of(what)) + " " + std::to_string(offset) + " " +
                                                   std::to_string(size));
    };
    options.finding = [](void* user, const fatctx_error* finding) {
      static_cast<Told*>(user)->findings.push_back(finding->code);
    };
    options.user = &told;
    return fatctx_repair(path.c_str(), &options, &report, &error);
  }

  Told told;
  fatctx_repair_report report = sized<fatctx_repair_report>();
};

TEST_F(CRepair, WhatHasAGoodCopyComesBackAndIsNamed) {
  const Bytes before = support::read_file(path);
  damage(container::kSlotOffsets[2] + 100);

  EXPECT_EQ(repair(1), FATCTX_OK) << text_of(error);
  EXPECT_EQ(told.restored, std::vector<std::string>{"slot A1 36864 512"});
  EXPECT_FALSE(support::read_file(path) == before) << "nothing is written by a dry run";
  told = {};
  ASSERT_EQ(repair(), FATCTX_OK) << text_of(error);

  EXPECT_EQ(told.restored, std::vector<std::string>{"slot A1 36864 512"});
  EXPECT_EQ(report.restored_count, 1U);
  EXPECT_EQ(report.finding_count, 0U);
  EXPECT_EQ(report.generation, 1U);
  EXPECT_GE(report.checked_bytes, support::kSampleWeightsSize);
  EXPECT_TRUE(support::read_file(path) == before);
  told = {};
  ASSERT_EQ(fatctx_repair(path.c_str(), nullptr, &report, &error), FATCTX_OK);
  EXPECT_EQ(report.restored_count, 0U);
}

TEST_F(CRepair, PayloadIsNeverInventedAndSaid) {
  fatctx_container container = open();
  auto info = sized<fatctx_record_info>();
  ASSERT_EQ(fatctx_container_find(container, "weights", &info, &error), FATCTX_OK);
  const std::uint64_t at = info.file_offset;
  ASSERT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  damage(at + 7);
  const Bytes damaged = support::read_file(path);

  ASSERT_EQ(repair(), FATCTX_OK) << text_of(error);

  EXPECT_TRUE(told.restored.empty());
  ASSERT_FALSE(told.findings.empty());
  EXPECT_EQ(told.findings.front(), FATCTX_ERROR_CHECKSUM_MISMATCH);
  EXPECT_EQ(report.finding_count, told.findings.size());
  EXPECT_TRUE(support::read_file(path) == damaged);
}

TEST_F(CRepair, PayloadComesFromOtherContainers) {
  const Bytes before = support::read_file(path);
  fatctx_container container = open();
  auto info = sized<fatctx_record_info>();
  ASSERT_EQ(fatctx_container_find(container, "weights", &info, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  const std::string whole = path + ".whole";
  support::write_file(whole, before);
  damage(info.file_offset + 7);
  const char* const from[] = {"/nowhere/at/all", whole.c_str()};
  auto options = sized<fatctx_repair_options>();
  options.from = from;
  options.from_count = 2;

  ASSERT_EQ(fatctx_repair(path.c_str(), &options, &report, &error), FATCTX_OK) << text_of(error);

  EXPECT_EQ(report.restored_count, 1U);
  EXPECT_EQ(report.finding_count, 0U);
  EXPECT_EQ(report.lacking_bytes, 0x10000U);
  EXPECT_TRUE(support::read_file(path) == before);
  auto open_options = sized<fatctx_open_options>();
  open_options.minimum_generation = 99;
  options.open = &open_options;
  EXPECT_EQ(fatctx_repair(path.c_str(), &options, &report, &error), FATCTX_ERROR_ROLLBACK);
  options.open = nullptr;
  options.from = nullptr;
  EXPECT_EQ(fatctx_repair(path.c_str(), &options, &report, &error), FATCTX_ERROR_INVALID_ARGUMENT);
}

TEST_F(CRepair, ProgressStopsTheCheckAndWhatIsRestoredStays) {
  const Bytes before = support::read_file(path);
  damage(container::kPrologueOffsets[1] + 3);
  EXPECT_EQ(repair(0, [](void*, uint64_t, uint64_t) -> int32_t { return 1; }), FATCTX_ERROR_CANCELLED);
  EXPECT_TRUE(support::read_file(path) == before);
}

TEST_F(CRepair, AFileThatDoesNotOpenIsAnError) {
  for (const std::uint64_t offset : container::kPrologueOffsets) damage(offset + 40);
  const Bytes damaged = support::read_file(path);
  EXPECT_NE(repair(), FATCTX_OK);
  EXPECT_NE(text_of(error).find("fetch the file again"), std::string::npos) << text_of(error);
  EXPECT_TRUE(support::read_file(path) == damaged);
  EXPECT_EQ(fatctx_repair(folder.file("none").c_str(), nullptr, &report, &error), FATCTX_ERROR_NOT_FOUND);
}

}  // namespace repair_test
}  // namespace fatctx::capi::testing
