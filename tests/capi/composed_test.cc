// Composed views through C: the budget in the options, the bytes in the view and in the metrics.
#include <gtest/gtest.h>

#include "capi/c_model.h"
#include "support/chip_corpus.h"

namespace fatctx::capi::testing {
namespace composed_test {

class CComposed : public CModel {
 protected:
  CComposed() {
    PackOptions options;
    options.sharing = Sharing::kBytes;
    std::vector<PackRecord> records;
    for (const std::size_t chip : {0U, 2U}) {
      records.push_back(support::binary_record("chip" + std::to_string(chip), chip == 0 ? "x86-64-v2" : "x86-64-v3",
                                               corpus_.chips[chip]));
    }
    support::write_file(path, support::packed_bytes(std::move(records), options));
  }
  [[nodiscard]] fatctx_container open_with(std::uint64_t budget,
                                           std::size_t struct_size = sizeof(fatctx_open_options)) {
    fatctx_open_options options;
    fatctx_open_options_init(&options, sizeof options);
    EXPECT_EQ(options.max_copied_bytes, 0U);
    options.max_copied_bytes = budget;
    options.struct_size = static_cast<std::uint32_t>(struct_size);
    fatctx_container container = {};
    EXPECT_EQ(fatctx_container_open(path.c_str(), &options, &container, &error), FATCTX_OK) << text_of(error);
    return container;
  }
  // Returns the index of the chip that is stored as a recipe.
  [[nodiscard]] std::size_t recipe() {
    const fatctx_container container = open();
    auto record = sized<fatctx_record_info>();
    EXPECT_EQ(fatctx_container_find(container, "chip0", &record, &error), FATCTX_OK) << text_of(error);
    EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
    return record.recipe != 0 ? 0 : 2;
  }

  const support::ChipCorpus corpus_ = support::make_chip_corpus(5, {.tensors = 6});
};

TEST_F(CComposed, AViewSaysHowMuchOfItWasBuilt) {
  const std::size_t chip = recipe();
  const std::string name = "chip" + std::to_string(chip);
  const fatctx_container container = open_with(std::uint64_t{1} << 40);
  fatctx_view view;
  ASSERT_EQ(fatctx_container_acquire_name(container, name.c_str(), &view, &error), FATCTX_OK) << text_of(error);
  auto info = sized<fatctx_view_info>();
  ASSERT_EQ(fatctx_view_describe(view, &info, &error), FATCTX_OK);
  EXPECT_STREQ(fatctx_access_path_name(info.access_path), "composed");
  EXPECT_GT(info.copied_bytes, 0U);
  EXPECT_TRUE(equal_bytes(view, corpus_.chips[chip]));

  fatctx_report metrics = {};
  ASSERT_EQ(fatctx_metrics_of_container(container, &metrics, &error), FATCTX_OK) << text_of(error);
  const nlohmann::json one = json_of(metrics)["container"];
  EXPECT_EQ(one["composed_bytes"], info.copied_bytes);
  std::uint64_t of_records = 0;
  for (const nlohmann::json& record : one["records"]) of_records += record["composed_bytes"].get<std::uint64_t>();
  EXPECT_EQ(of_records, info.copied_bytes);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  EXPECT_TRUE(equal_bytes(view, corpus_.chips[chip])) << "the view outlives its container";
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
}

TEST_F(CComposed, WithoutABudgetAndForProgramsOfBeforeItIsRefused) {
  const std::string name = "chip" + std::to_string(recipe());
  const fatctx_container without = open_with(0);
  const fatctx_container older = open_with(std::uint64_t{1} << 40, offsetof(fatctx_open_options, max_copied_bytes));
  for (const fatctx_container container : {without, older}) {
    fatctx_view view = {};
    EXPECT_EQ(fatctx_container_acquire_name(container, name.c_str(), &view, &error), FATCTX_ERROR_COPY_NOT_ALLOWED);
    EXPECT_NE(text_of(error).find("max_copied_bytes"), std::string::npos) << text_of(error);
    EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  }
}

TEST_F(CComposed, AnOlderViewInfoIsWrittenNoFurtherThanItReaches) {
  const std::string name = "chip" + std::to_string(recipe());
  const fatctx_container container = open_with(std::uint64_t{1} << 40);
  fatctx_view view;
  ASSERT_EQ(fatctx_container_acquire_name(container, name.c_str(), &view, &error), FATCTX_OK) << text_of(error);
  fatctx_view_info info = {};
  info.struct_size = offsetof(fatctx_view_info, copied_bytes);
  info.copied_bytes = 0xABCD;
  ASSERT_EQ(fatctx_view_describe(view, &info, &error), FATCTX_OK);
  EXPECT_EQ(info.copied_bytes, 0xABCDU);
  EXPECT_EQ(info.size, view.size);
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CComposed, WhatIsBuiltLiesInACacheFolder) {
  const std::size_t chip = recipe();
  const std::string name = "chip" + std::to_string(chip);
  const support::TempDir cache;  // made with mode 0700
  auto options = sized<fatctx_open_options>();
  EXPECT_EQ(options.cache_folder, nullptr);
  options.cache_folder = cache.path().c_str();
  for (const bool made : {true, false}) {
    fatctx_container container = {};
    ASSERT_EQ(fatctx_container_open(path.c_str(), &options, &container, &error), FATCTX_OK) << text_of(error);
    fatctx_view view;
    ASSERT_EQ(fatctx_container_acquire_name(container, name.c_str(), &view, &error), FATCTX_OK) << text_of(error);
    auto info = sized<fatctx_view_info>();
    ASSERT_EQ(fatctx_view_describe(view, &info, &error), FATCTX_OK);
    EXPECT_EQ(info.copied_bytes, 0U);
    EXPECT_GT(info.cached_bytes, 0U);
    EXPECT_TRUE(equal_bytes(view, corpus_.chips[chip]));
    fatctx_report metrics = {};
    ASSERT_EQ(fatctx_metrics_of_runtime(&metrics, &error), FATCTX_OK) << text_of(error);
    const nlohmann::json runtime = json_of(metrics)["runtime"];
    EXPECT_EQ(runtime["view_cache"][made ? "made" : "used"], 1);
    const nlohmann::json& one = runtime["containers"][0];
    EXPECT_EQ(one["cached_bytes"], info.cached_bytes);
    EXPECT_EQ(one["composed_bytes"], 0);
    const nlohmann::json& record = one["records"][info.record_id - 1];
    EXPECT_EQ(record["cached_bytes"], info.cached_bytes);
    EXPECT_EQ(record["cache_file"].get<std::string>().substr(0, cache.path().size()), cache.path());
    EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
    EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  }
  std::string json(4096, ' ');
  std::size_t size = 0;
  ASSERT_EQ(fatctx_view_cache_json(cache.path().c_str(), json.data(), json.size(), &size, &error), FATCTX_OK);
  EXPECT_NE(json.find("fatctx.cache/1"), std::string::npos) << json;
  auto collection = sized<fatctx_view_cache_collection>();
  ASSERT_EQ(fatctx_view_cache_collect(cache.path().c_str(), 0, &collection, &error), FATCTX_OK);
  EXPECT_EQ(collection.removed_files, 1U);
  EXPECT_EQ(collection.left_files, 0U);
}

TEST_F(CComposed, ABadCacheFolderIsAnErrorAndProgramsOfBeforeItNameNone) {
  const std::string name = "chip" + std::to_string(recipe());
  auto options = sized<fatctx_open_options>();
  options.cache_folder = path.c_str();
  options.max_copied_bytes = std::uint64_t{1} << 40;
  for (const bool older : {false, true}) {
    if (older) options.struct_size = offsetof(fatctx_open_options, cache_folder);
    fatctx_container container = {};
    ASSERT_EQ(fatctx_container_open(path.c_str(), &options, &container, &error), FATCTX_OK) << text_of(error);
    fatctx_view view = {};
    EXPECT_EQ(fatctx_container_acquire_name(container, name.c_str(), &view, &error),
              older ? FATCTX_OK : FATCTX_ERROR_OPERATION_NOT_PERMITTED);
    if (older) {
      EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
    }
    EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  }
}

}  // namespace composed_test
}  // namespace fatctx::capi::testing
