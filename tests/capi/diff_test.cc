// Comparing two containers through C.
#include <gtest/gtest.h>

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
  // Closes the containers: the answer needs them no more.
  nlohmann::json diff(fatctx_container before, fatctx_container after, std::uint32_t same) {
    fatctx_report report = {};
    std::uint32_t said = 7;
    EXPECT_EQ(fatctx_container_diff(before, after, nullptr, nullptr, &said, &report, &error), FATCTX_OK)
        << text_of(error);
    EXPECT_EQ(said, same);
    EXPECT_EQ(fatctx_container_close(before, &error), FATCTX_OK);
    EXPECT_EQ(fatctx_container_close(after, &error), FATCTX_OK);
    return json_of(report);
  }
};

TEST_F(CDiff, OfEqualContainersIsEmpty) {
  const nlohmann::json same = diff(open(), open(), 1);
  EXPECT_EQ(same["schema"], "fatctx.diff/1");
  EXPECT_EQ(same["same"], true);
  EXPECT_EQ(same["records"].size(), 0U);
  EXPECT_EQ(same["same_records"], support::cpu_records().size() + 1) << "and the table of tensors";
  EXPECT_EQ(same["before"]["record_bytes_in_both"], same["after"]["record_bytes_in_both"]);
}

TEST_F(CDiff, NamesWhatIsGoneChangedAndForAnotherTarget) {
  const fatctx_container after = changed([](std::vector<PackRecord>& records) {
    const auto named = [&](std::string_view name) {
      return std::find_if(records.begin(), records.end(), [&](const PackRecord& one) { return one.name == name; });
    };
    named("cpu-x86-64-v3")->source.bytes[0] ^= std::byte{1};
    named("cpu-x86-64-v4")->key.arch = "riscv64";
    records.erase(named("cpu-x86-64-v2"));
  });
  const nlohmann::json different = diff(open(), after, 0);
  EXPECT_EQ(different["same"], false);
  std::vector<std::string> said;
  for (const nlohmann::json& record : different["records"]) {
    const std::string target = record["after"].is_null() ? "" : record["after"]["target"].get<std::string>();
    said.push_back(record["change"].get<std::string>() + " " + record["before"]["name"].get<std::string>() + " -> " +
                   target);
    EXPECT_EQ(record["type"], "context_binary");
  }
  std::ranges::sort(said);
  EXPECT_EQ(said, (std::vector<std::string>{"changed cpu-x86-64-v3 -> cpu x86-64-v3", "removed cpu-x86-64-v2 -> ",
                                            "retargeted cpu-x86-64-v4 -> cpu riscv64"}));
}

TEST_F(CDiff, TheAnswerAloneNeedsNoFlag) {
  fatctx_report report = {};
  const fatctx_container container = open();
  ASSERT_EQ(fatctx_container_diff(container, container, nullptr, nullptr, nullptr, &report, &error), FATCTX_OK);
  EXPECT_EQ(json_of(report)["same"], true);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CDiff, StopsFromProgress) {
  const fatctx_container before = open();
  const fatctx_container after = changed([](std::vector<PackRecord>& records) {
    for (PackRecord& record : records) {
      if (record.name == "weights") record.source.bytes[0] ^= std::byte{1};
    }
  });
  fatctx_report report = {};
  const fatctx_progress stop = [](void*, std::uint64_t, std::uint64_t) -> std::int32_t { return 1; };
  EXPECT_EQ(fatctx_container_diff(before, after, stop, nullptr, nullptr, &report, &error), FATCTX_ERROR_CANCELLED);
  EXPECT_EQ(report.id, 0U);
  EXPECT_EQ(fatctx_container_close(before, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(after, &error), FATCTX_OK);
}

}  // namespace diff_test
}  // namespace fatctx::capi::testing
