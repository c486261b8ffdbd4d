// Sharing between records, through C: the report of C++ as JSON.
#include "fatctx/sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capi/c_model.h"
#include "support/chip_corpus.h"
#include "support/opened.h"

namespace fatctx::capi::testing {
namespace sharing_test {

using ::testing::HasSubstr;

class CSharing : public CModel {
 protected:
  CSharing() {
    const auto corpus = support::make_chip_corpus(3, {.tensors = 8, .rows = 64});
    std::vector<PackRecord> records;
    for (std::size_t i = 0; i < 3; ++i) {
      records.push_back(
          support::binary_record("chip" + std::to_string(i), "x86-64-v" + std::to_string(2 + i), corpus.chips[i]));
    }
    records.push_back(support::binary_record("twin", "x86-64", corpus.chips[0]));
    PackOptions options;
    options.sharing = Sharing::kBytes;
    support::write_file(path, support::packed_bytes(std::move(records), options));
  }
  [[nodiscard]] nlohmann::json measure(fatctx_container container) {
    fatctx_report report = {};
    EXPECT_EQ(fatctx_container_sharing(container, nullptr, nullptr, &report, &error), FATCTX_OK) << text_of(error);
    EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);  // the report does not need it any more
    return json_of(report);
  }
};

TEST_F(CSharing, TheReportIsThatOfCxx) {
  const Container opened = Container::open(path).value();
  const SharingReport expected = measure_sharing(opened).value();
  const nlohmann::json found = measure(open());

  EXPECT_EQ(found["schema"], "fatctx.sharing/1");
  EXPECT_EQ(found["file"], path);
  EXPECT_EQ(found["totals"]["input_bytes"], expected.totals.input_bytes);
  EXPECT_EQ(found["totals"]["stored_bytes"], expected.totals.stored_bytes);
  EXPECT_EQ(found["totals"]["pages"][2]["bytes"], expected.totals.pages[2].bytes);
  EXPECT_LT(found["totals"]["pages"][0]["bytes"], found["totals"]["pages"][2]["bytes"]);
  ASSERT_EQ(found["records"].size(), expected.records.size());
  std::uint64_t composed = 0;
  std::size_t sharers = 0;
  for (std::size_t i = 0; i < expected.records.size(); ++i) {
    const nlohmann::json& row = found["records"][i];
    EXPECT_EQ(row["record"], expected.records[i].record_id);
    EXPECT_EQ(row["own_bytes"], expected.records[i].own_bytes);
    EXPECT_EQ(row["shared_bytes"], expected.records[i].shared_bytes);
    EXPECT_EQ(row["composed_bytes"], expected.records[i].composed_bytes);
    EXPECT_EQ(row["shared_with"].size(), expected.records[i].shared_with.size());
    composed += row["composed_bytes"].get<std::uint64_t>();
    sharers += row["shared_with"].size();
  }
  EXPECT_EQ(found["records"][0]["name"], support::records_in(opened)[0].name);
  EXPECT_GT(composed, 0U) << "there is a recipe";
  EXPECT_GT(sharers, 2U);
  ASSERT_EQ(found["layout_groups"].size(), expected.layout_groups.size());
  EXPECT_EQ(found["layout_groups"][0]["records"].get<std::vector<std::uint32_t>>(), expected.layout_groups[0].records);
  ASSERT_EQ(found["targets"].size(), expected.targets.size());
  EXPECT_EQ(found["targets"][0]["target"], expected.targets[0].target);
}

TEST_F(CSharing, AReportIsJsonAndNothingElse) {
  const fatctx_container container = open();
  fatctx_report report = {};
  ASSERT_EQ(fatctx_container_sharing(container, nullptr, nullptr, &report, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  std::size_t size = 0;
  EXPECT_EQ(fatctx_report_text(report, FATCTX_FORMAT_CSV, nullptr, 0, &size, &error), FATCTX_ERROR_UNSUPPORTED);
  EXPECT_THAT(error.message, HasSubstr("only a profile"));
  EXPECT_EQ(fatctx_report_text(report, FATCTX_FORMAT_TEXT, nullptr, 0, &size, &error), FATCTX_ERROR_UNSUPPORTED);
  EXPECT_EQ(fatctx_report_text(report, 3, nullptr, 0, &size, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("format is 3"));
  char cut[8] = {};
  EXPECT_EQ(fatctx_report_text(report, FATCTX_FORMAT_JSON, cut, sizeof cut, &size, &error), FATCTX_OK);
  EXPECT_GT(size, sizeof cut);
  EXPECT_EQ(cut[sizeof cut - 1], '\0');
  EXPECT_EQ(fatctx_report_close(report, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_report_close(report, &error), FATCTX_ERROR_STALE_HANDLE);
}

TEST_F(CSharing, ProgressIsToldAndMayStopTheWork) {
  struct Seen {
    std::uint64_t done = 0;
    std::uint64_t total = 0;
    std::int32_t answer = 0;
  } seen;
  const fatctx_progress tell = [](void* user, std::uint64_t done, std::uint64_t total) -> std::int32_t {
    auto* self = static_cast<Seen*>(user);
    EXPECT_GE(done, self->done);
    self->done = done;
    self->total = total;
    return self->answer;
  };
  const fatctx_container container = open();
  fatctx_report report = {};
  ASSERT_EQ(fatctx_container_sharing(container, tell, &seen, &report, &error), FATCTX_OK) << text_of(error);
  EXPECT_GT(seen.done, 0U);
  EXPECT_EQ(seen.done, seen.total);
  EXPECT_EQ(fatctx_report_close(report, &error), FATCTX_OK);

  seen = {.answer = 1};
  EXPECT_EQ(fatctx_container_sharing(container, tell, &seen, &report, &error), FATCTX_ERROR_CANCELLED);
  EXPECT_EQ(report.id, 0U);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CSharing, TheWayToAViewIsKnownBeforeThereIsOne) {
  fatctx_open_options options;
  fatctx_open_options_init(&options, sizeof options);
  options.max_copied_bytes = UINT64_MAX;
  const fatctx_container container = open(&options);
  std::set<std::string> ways;
  for (const char* name : {"chip0", "chip1", "chip2", "twin"}) {
    auto record = sized<fatctx_record_info>();
    ASSERT_EQ(fatctx_container_find(container, name, &record, &error), FATCTX_OK);
    std::uint32_t way = FATCTX_UNKNOWN;
    ASSERT_EQ(fatctx_container_access_path(container, record.id, &way, &error), FATCTX_OK) << text_of(error);
    fatctx_view view;
    ASSERT_EQ(fatctx_container_acquire(container, record.id, &view, &error), FATCTX_OK) << text_of(error);
    auto info = sized<fatctx_view_info>();
    ASSERT_EQ(fatctx_view_describe(view, &info, &error), FATCTX_OK);
    EXPECT_EQ(way, info.access_path) << name;
    ways.insert(fatctx_access_path_name(way));
    EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
  }
  EXPECT_TRUE(ways.contains("direct") && ways.contains("composed"));
  std::uint32_t way = 0;
  EXPECT_EQ(fatctx_container_access_path(container, 99, &way, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

}  // namespace sharing_test
}  // namespace fatctx::capi::testing
