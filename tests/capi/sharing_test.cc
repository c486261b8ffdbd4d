// Sharing between records through C: the report of C++, row by row.
#include "fatctx/sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capi/c_model.h"
#include "support/chip_corpus.h"

namespace fatctx::capi::testing {
namespace sharing_test {

using ::testing::ElementsAreArray;
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
  [[nodiscard]] fatctx_sharing measure(fatctx_container container) {
    fatctx_sharing sharing = {};
    EXPECT_EQ(fatctx_container_sharing(container, nullptr, nullptr, &sharing, &error), FATCTX_OK) << text_of(error);
    return sharing;
  }
};

TEST_F(CSharing, TheReportIsThatOfCxx) {
  const SharingReport expected = measure_sharing(Container::open(path).value()).value();
  const fatctx_container container = open();
  const fatctx_sharing sharing = measure(container);
  ASSERT_EQ(fatctx_container_close(container, &error), FATCTX_OK);  // the report does not need it any more

  auto info = sized<fatctx_sharing_info>();
  ASSERT_EQ(fatctx_sharing_describe(sharing, &info, &error), FATCTX_OK) << text_of(error);
  ASSERT_EQ(info.record_count, expected.records.size());
  ASSERT_EQ(info.layout_group_count, expected.layout_groups.size());
  ASSERT_EQ(info.target_count, expected.targets.size());
  EXPECT_EQ(info.input_bytes, expected.totals.input_bytes);
  EXPECT_EQ(info.off_bytes, expected.totals.off_bytes);
  EXPECT_EQ(info.stored_bytes, expected.totals.stored_bytes);
  EXPECT_EQ(info.pages_4k_bytes, expected.totals.pages[0].bytes);
  EXPECT_EQ(info.pages_16k_bytes, expected.totals.pages[1].bytes);
  EXPECT_EQ(info.pages_64k_bytes, expected.totals.pages[2].bytes);
  EXPECT_EQ(info.bytes_at_most, expected.totals.bytes_at_most);
  EXPECT_LT(info.pages_4k_bytes, info.pages_64k_bytes);

  std::uint64_t composed = 0;
  std::size_t sharers = 0;
  for (std::size_t i = 0; i < expected.records.size(); ++i) {
    const RecordSharing& wanted = expected.records[i];
    auto row = sized<fatctx_record_sharing>();
    ASSERT_EQ(fatctx_sharing_record(sharing, i, &row, &error), FATCTX_OK) << text_of(error);
    EXPECT_EQ(row.record_id, wanted.record_id);
    EXPECT_EQ(row.size_bytes, wanted.size_bytes);
    EXPECT_EQ(row.own_bytes, wanted.own_bytes);
    EXPECT_EQ(row.shared_bytes, wanted.shared_bytes);
    EXPECT_EQ(row.repeated_bytes, wanted.repeated_bytes);
    EXPECT_EQ(row.sharer_count, wanted.sharer_count);
    EXPECT_EQ(row.pieces, wanted.pieces);
    EXPECT_EQ(row.composed_bytes, wanted.composed_bytes);
    EXPECT_EQ(row.layout_group, wanted.layout_group.value_or(FATCTX_UNKNOWN));
    ASSERT_EQ(row.shared_with_count, wanted.shared_with.size());
    for (std::size_t k = 0; k < wanted.shared_with.size(); ++k) {
      EXPECT_EQ(row.shared_with[k].record_id, wanted.shared_with[k].record_id);
      EXPECT_EQ(row.shared_with[k].bytes, wanted.shared_with[k].bytes);
    }
    composed += row.composed_bytes;
    sharers += row.shared_with_count;
  }
  EXPECT_GT(composed, 0U) << "there is a recipe";
  EXPECT_GT(sharers, 2U);

  for (std::size_t i = 0; i < expected.layout_groups.size(); ++i) {
    const SharingLayoutGroup& wanted = expected.layout_groups[i];
    auto group = sized<fatctx_layout_group>();
    ASSERT_EQ(fatctx_sharing_layout_group(sharing, i, &group, &error), FATCTX_OK) << text_of(error);
    EXPECT_THAT(std::span(group.records, group.record_count), ElementsAreArray(wanted.records));
    EXPECT_EQ(group.size_bytes, wanted.size_bytes);
    EXPECT_EQ(group.stored_bytes, wanted.stored_bytes);
    EXPECT_EQ(group.distinct_bytes, wanted.distinct_bytes);
  }
  for (std::size_t i = 0; i < expected.targets.size(); ++i) {
    const TargetSharing& wanted = expected.targets[i];
    auto target = sized<fatctx_target_sharing>();
    ASSERT_EQ(fatctx_sharing_target(sharing, i, &target, &error), FATCTX_OK) << text_of(error);
    EXPECT_EQ(view_of(target.target), wanted.target);
    EXPECT_THAT(std::span(target.records, target.record_count), ElementsAreArray(wanted.records));
    EXPECT_EQ(target.alone_bytes, wanted.alone_bytes);
  }
  EXPECT_EQ(fatctx_sharing_close(sharing, &error), FATCTX_OK);
}

TEST_F(CSharing, AnIndexOutOfRangeSaysHowManyThereAre) {
  const fatctx_container container = open();
  const fatctx_sharing sharing = measure(container);
  auto record = sized<fatctx_record_sharing>();
  auto group = sized<fatctx_layout_group>();
  auto target = sized<fatctx_target_sharing>();

  EXPECT_EQ(fatctx_sharing_record(sharing, UINT64_MAX, &record, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_THAT(error.message, HasSubstr("there are 5"));  // the description counts, too
  EXPECT_EQ(fatctx_sharing_layout_group(sharing, 99, &group, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_THAT(error.message, HasSubstr("layout group 99"));
  EXPECT_EQ(fatctx_sharing_target(sharing, 4, &target, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_THAT(error.message, HasSubstr("there are 4"));
  EXPECT_EQ(fatctx_sharing_close(sharing, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
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
  fatctx_sharing sharing = {};
  ASSERT_EQ(fatctx_container_sharing(container, tell, &seen, &sharing, &error), FATCTX_OK) << text_of(error);
  EXPECT_GT(seen.done, 0U);
  EXPECT_EQ(seen.done, seen.total);
  EXPECT_EQ(fatctx_sharing_close(sharing, &error), FATCTX_OK);

  seen = {.answer = 1};
  EXPECT_EQ(fatctx_container_sharing(container, tell, &seen, &sharing, &error), FATCTX_ERROR_CANCELLED);
  EXPECT_EQ(sharing.id, 0U);
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
