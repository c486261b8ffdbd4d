// Fetching a part of a container through C.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "capi/c_model.h"
#include "fatctx/block_index.h"
#include "fatctx/container.h"
#include "fatctx/update.h"

namespace fatctx::capi::testing {
namespace fetch_test {

class CFetch : public CModel {
 protected:
  // Gives the plan all that it wants. `spoil` may change a piece.
  int32_t give(const std::function<void(std::uint64_t, Bytes&)>& spoil = {}) {
    std::uint64_t count = 1;
    while (count != 0) {
      std::array<fatctx_file_range, 2> ranges = {};
      if (fatctx_fetch_plan_wanted(plan, ranges.data(), ranges.size(), &count, &error) != FATCTX_OK) return error.code;
      for (std::size_t i = 0; i < std::min<std::uint64_t>(count, ranges.size()); ++i) {
        const auto from = source.begin() + static_cast<std::ptrdiff_t>(ranges[i].offset);
        Bytes piece(from, from + static_cast<std::ptrdiff_t>(ranges[i].size));
        if (spoil) spoil(ranges[i].offset, piece);
        const auto taken = fatctx_fetch_plan_take(plan, ranges[i].offset, piece.data(), piece.size(), &error);
        if (taken != FATCTX_OK) return taken;
      }
    }
    return FATCTX_OK;
  }
  int32_t begin(const fatctx_fetch_options* options) {
    return fatctx_fetch_plan_begin(target.c_str(), source.size(), options, &plan, &error);
  }
  void to_payload() {
    while (report().stage < FATCTX_FETCH_PAYLOAD) {
      fatctx_file_range range = {};
      std::uint64_t count = 0;
      ASSERT_EQ(fatctx_fetch_plan_wanted(plan, &range, 1, &count, &error), FATCTX_OK);
      ASSERT_EQ(fatctx_fetch_plan_take(plan, range.offset, source.data() + range.offset, range.size, &error),
                FATCTX_OK);
    }
  }
  fatctx_fetch_report report() {
    auto made = sized<fatctx_fetch_report>();
    EXPECT_EQ(fatctx_fetch_plan_report(plan, &made, &error), FATCTX_OK);
    return made;
  }
  void TearDown() override {
    (void)fatctx_fetch_plan_close(plan, nullptr);
    CModel::TearDown();
  }

  const Bytes source = support::read_file(path);
  const std::string target = path + ".fetched";
  fatctx_fetch_plan plan = {};
};

TEST_F(CFetch, BringsTheRecordsOfADevice) {
  auto options = sized<fatctx_fetch_options>();
  fatctx_device device = {};
  ASSERT_EQ(fatctx_device_parse("x86-64-v3", &device, &error), FATCTX_OK);
  options.devices = &device;
  options.device_count = 1;
  ASSERT_EQ(begin(&options), FATCTX_OK) << error.message;
  EXPECT_EQ(report().stage, static_cast<std::uint32_t>(FATCTX_FETCH_HEADER));
  EXPECT_EQ(report().generation, 0U);
  EXPECT_EQ(fatctx_fetch_plan_publish(plan, &error), FATCTX_ERROR_OPERATION_NOT_PERMITTED);
  ASSERT_EQ(give(), FATCTX_OK) << error.message;
  EXPECT_STREQ(fatctx_fetch_stage_name(report().stage), "done");
  EXPECT_EQ(report().missing_bytes, 0U);
  EXPECT_GE(report().record_count, 2U);
  EXPECT_EQ(report().source_bytes, source.size());
  ASSERT_EQ(fatctx_fetch_plan_publish(plan, &error), FATCTX_OK) << error.message;
  EXPECT_EQ(fatctx_fetch_plan_publish(plan, &error), FATCTX_ERROR_OPERATION_NOT_PERMITTED);
  EXPECT_EQ(fatctx_fetch_plan_take(plan, 0, "x", 1, &error), FATCTX_ERROR_OPERATION_NOT_PERMITTED);

  fatctx_model model = {};
  auto chosen = sized<fatctx_model_options>();
  chosen.device = device;
  ASSERT_EQ(fatctx_model_open(target.c_str(), &chosen, &model, &error), FATCTX_OK) << error.message;
  fatctx_session session = {};
  EXPECT_EQ(fatctx_model_begin_session(model, &session, &error), FATCTX_OK) << error.message;
  EXPECT_EQ(fatctx_session_close(session, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_model_close(model, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_device_close(device, &error), FATCTX_OK);
}

TEST_F(CFetch, RefusesWrongBytesAndGoesOn) {
  auto options = sized<fatctx_fetch_options>();
  options.all = 1;
  ASSERT_EQ(begin(&options), FATCTX_OK) << error.message;
  const std::uint64_t place = Container::open(path).value().find("weights").value().file_offset;
  bool spoilt = false;
  EXPECT_EQ(give([&](std::uint64_t offset, Bytes& piece) {
              if (place < offset || place >= offset + piece.size()) return;
              piece[static_cast<std::size_t>(place - offset)] ^= std::byte{1};
              spoilt = true;
            }),
            FATCTX_ERROR_CHECKSUM_MISMATCH);
  EXPECT_TRUE(spoilt);
  ASSERT_EQ(give(), FATCTX_OK) << error.message;
  ASSERT_EQ(fatctx_fetch_plan_publish(plan, &error), FATCTX_OK) << error.message;
  EXPECT_EQ(support::read_file(target), source);
}

TEST_F(CFetch, BringsMetadataAloneAndDiscards) {
  auto options = sized<fatctx_fetch_options>();
  options.metadata = 1;
  const char* const names[] = {"no such weights"};
  options.records = names;
  options.record_count = 1;
  ASSERT_EQ(begin(&options), FATCTX_OK) << error.message;
  EXPECT_EQ(give(), FATCTX_ERROR_NOT_FOUND);
  EXPECT_TRUE(std::filesystem::exists(target + ".fetching"));
  EXPECT_EQ(fatctx_fetch_plan_discard(plan, &error), FATCTX_OK);
  EXPECT_FALSE(std::filesystem::exists(target + ".fetching"));
  EXPECT_EQ(fatctx_fetch_plan_close(plan, &error), FATCTX_OK);

  options.record_count = 0;
  ASSERT_EQ(begin(&options), FATCTX_OK) << error.message;
  ASSERT_EQ(give(), FATCTX_OK) << error.message;
  ASSERT_EQ(fatctx_fetch_plan_publish(plan, &error), FATCTX_OK) << error.message;
  fatctx_container container = {};
  ASSERT_EQ(fatctx_container_open(target.c_str(), nullptr, &container, &error), FATCTX_OK) << error.message;
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CFetch, RefusesOptionsThatMakeNoSense) {
  auto options = sized<fatctx_fetch_options>();
  options.record_count = 1;
  EXPECT_EQ(begin(&options), FATCTX_ERROR_INVALID_ARGUMENT);
  options.record_count = 0;
  options.device_count = 1;
  EXPECT_EQ(begin(&options), FATCTX_ERROR_INVALID_ARGUMENT);
  fatctx_device closed = {77};
  options.devices = &closed;
  EXPECT_EQ(begin(&options), FATCTX_ERROR_STALE_HANDLE);
  options.device_count = 0;
  options.all = 1;
  options.metadata = 1;
  EXPECT_EQ(begin(&options), FATCTX_ERROR_INVALID_ARGUMENT);
  options.metadata = 0;
  options.reserved = 1;
  EXPECT_EQ(begin(&options), FATCTX_ERROR_UNSUPPORTED);
  EXPECT_EQ(plan.id, 0U);
  EXPECT_EQ(fatctx_fetch_plan_begin(target.c_str(), 0, nullptr, &plan, &error), FATCTX_ERROR_TRUNCATED);
  EXPECT_STREQ(fatctx_fetch_stage_name(5), "unknown");
}

TEST_F(CFetch, FollowsAnUpdate) {
  const std::string old = path + ".old";
  const std::string update = path + ".update";
  ASSERT_TRUE(
      support::pack({support::plain_record(RecordType::kOpaque, "old", support::pattern(300'000, 5))}, old).ok());
  const std::array<std::string, 1> olds = {old};
  ASSERT_TRUE(make_update(olds, path, update).ok());
  auto options = sized<fatctx_fetch_options>();
  options.all = 1;
  const char* seeds[] = {old.c_str()};
  options.seeds = seeds;
  options.seed_count = 1;
  ASSERT_EQ(begin(&options), FATCTX_OK) << error.message;
  EXPECT_EQ(fatctx_fetch_plan_use(plan, update.c_str(), &error), FATCTX_ERROR_OPERATION_NOT_PERMITTED);
  to_payload();
  EXPECT_EQ(fatctx_fetch_plan_use(plan, update.c_str(), &error), FATCTX_OK) << error.message;
  EXPECT_EQ(report().stage, static_cast<std::uint32_t>(FATCTX_FETCH_DONE));
  ASSERT_EQ(fatctx_fetch_plan_publish(plan, &error), FATCTX_OK) << error.message;
  EXPECT_EQ(support::read_file(target), source);
}

TEST_F(CFetch, TakesLeavesAndBlocksOfFilesThatAreHere) {
  const std::string index = path + ".blocks";
  ASSERT_TRUE(make_block_index(path, index).ok());
  auto options = sized<fatctx_fetch_options>();
  options.all = 1;
  ASSERT_EQ(begin(&options), FATCTX_OK) << error.message;
  EXPECT_EQ(fatctx_fetch_plan_use(plan, path.c_str(), &error), FATCTX_ERROR_OPERATION_NOT_PERMITTED);
  EXPECT_EQ(fatctx_fetch_plan_use(plan, index.c_str(), &error), FATCTX_ERROR_OPERATION_NOT_PERMITTED);
  to_payload();
  const std::string other = path + ".other";
  support::write_file(other, Bytes(100, std::byte{7}));
  EXPECT_EQ(fatctx_fetch_plan_use(plan, other.c_str(), &error), FATCTX_ERROR_BAD_MAGIC);
  EXPECT_EQ(fatctx_fetch_plan_use(plan, nullptr, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_fetch_plan_use(plan, index.c_str(), &error), FATCTX_OK) << error.message;
  EXPECT_EQ(fatctx_fetch_plan_use(plan, path.c_str(), &error), FATCTX_OK) << error.message;
  EXPECT_EQ(report().stage, static_cast<std::uint32_t>(FATCTX_FETCH_DONE));
  EXPECT_EQ(report().reused_bytes, report().needed_bytes);
  ASSERT_EQ(fatctx_fetch_plan_publish(plan, &error), FATCTX_OK) << error.message;
  EXPECT_EQ(support::read_file(target), source);
}

}  // namespace fetch_test
}  // namespace fatctx::capi::testing
