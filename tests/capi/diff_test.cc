// Comparing two containers through C.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

#include "capi/c_model.h"

namespace fatctx::capi::testing {
namespace diff_test {

class CDiff : public CModel {
 protected:
  // Packs the model's records after `change` and opens the container.
  template <typename Change>
  fatctx_container changed(const Change& change) {
    std::vector<PackRecord> records = support::cpu_records();
    change(records);
    PackOptions options;
    options.model_name = "sample";
    const std::string other = folder.file("other.fatctx");
    EXPECT_TRUE(support::pack(std::move(records), other, options).ok());
    fatctx_container container = {};
    EXPECT_EQ(fatctx_container_open(other.c_str(), nullptr, &container, &error), FATCTX_OK) << text_of(error);
    return container;
  }
  // Compares and closes the containers; the result does not need them any more.
  fatctx_diff diff(fatctx_container before, fatctx_container after) {
    fatctx_diff made = {};
    EXPECT_EQ(fatctx_diff_create(before, after, nullptr, nullptr, &made, &error), FATCTX_OK) << text_of(error);
    EXPECT_EQ(fatctx_container_close(before, &error), FATCTX_OK);
    EXPECT_EQ(fatctx_container_close(after, &error), FATCTX_OK);
    return made;
  }
  fatctx_diff_info described(fatctx_diff of) {
    auto info = sized<fatctx_diff_info>();
    EXPECT_EQ(fatctx_diff_describe(of, &info, &error), FATCTX_OK) << text_of(error);
    return info;
  }
};

TEST_F(CDiff, OfEqualContainersIsEmpty) {
  const fatctx_diff same = diff(open(), open());
  const fatctx_diff_info info = described(same);
  EXPECT_EQ(info.same, 1U);
  EXPECT_EQ(info.record_count, 0U);
  EXPECT_EQ(info.same_record_count, support::cpu_records().size() + 1) << "and the table of tensors";
  EXPECT_EQ(info.before_record_bytes_in_both, info.after_record_bytes_in_both);
  auto record = sized<fatctx_diffed_record>();
  EXPECT_EQ(fatctx_diff_record(same, 0, &record, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_diff_close(same, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_diff_close(same, &error), FATCTX_ERROR_STALE_HANDLE);
}

TEST_F(CDiff, NamesWhatIsGoneChangedAndForAnotherTarget) {
  const fatctx_diff different = diff(open(), changed([](std::vector<PackRecord>& records) {
                                       const auto named = [&](std::string_view name) {
                                         return std::find_if(records.begin(), records.end(),
                                                             [&](const PackRecord& one) { return one.name == name; });
                                       };
                                       named("cpu-x86-64-v3")->source.bytes[0] ^= std::byte{1};
                                       named("cpu-x86-64-v4")->key.arch = "riscv64";
                                       records.erase(named("cpu-x86-64-v2"));
                                     }));
  const fatctx_diff_info info = described(different);
  EXPECT_EQ(info.same, 0U);
  ASSERT_EQ(info.record_count, 3U);
  std::vector<std::string> said;
  for (std::uint64_t i = 0; i < info.record_count; ++i) {
    auto record = sized<fatctx_diffed_record>();
    ASSERT_EQ(fatctx_diff_record(different, i, &record, &error), FATCTX_OK);
    said.push_back(std::string(fatctx_change_name(record.change)) + " " + std::string(view_of(record.name_before)) +
                   " -> " + std::string(view_of(record.target_after)));
    EXPECT_EQ(record.type, FATCTX_RECORD_CONTEXT_BINARY);
  }
  std::ranges::sort(said);
  EXPECT_EQ(said, (std::vector<std::string>{"changed cpu-x86-64-v3 -> cpu x86-64-v3", "removed cpu-x86-64-v2 -> ",
                                            "retargeted cpu-x86-64-v4 -> cpu riscv64"}));
  const std::string text = text_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_diff_json(different, buffer, capacity, size, &error);
  });
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["schema"], "fatctx.diff/1");
  EXPECT_EQ(json["records"].size(), 3U);
  EXPECT_EQ(fatctx_diff_close(different, &error), FATCTX_OK);
}

TEST_F(CDiff, StopsFromProgress) {
  const fatctx_container before = open();
  const fatctx_container after = changed([](std::vector<PackRecord>& records) {
    for (PackRecord& record : records) {
      if (record.name == "weights") record.source.bytes[0] ^= std::byte{1};
    }
  });
  fatctx_diff made = {};
  EXPECT_EQ(fatctx_diff_create(
                before, after, [](void*, uint64_t, uint64_t) -> int32_t { return 1; }, nullptr, &made, &error),
            FATCTX_ERROR_CANCELLED);
  EXPECT_EQ(fatctx_container_close(before, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(after, &error), FATCTX_OK);
}

}  // namespace diff_test
}  // namespace fatctx::capi::testing
