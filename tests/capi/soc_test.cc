// The table of SoCs and detection with options, through C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "capi/c_model.h"
#include "support/temp_dir.h"

namespace fatctx::capi::testing {
namespace soc_test {

using ::testing::HasSubstr;

std::string text_of(const fatctx_text& text) { return {text.data, static_cast<std::size_t>(text.size)}; }

template <typename Write>
nlohmann::json json_of(const Write& write) {
  std::size_t size = 0;
  EXPECT_EQ(write(nullptr, 0, &size), FATCTX_OK);
  std::string text(size + 1, '#');
  EXPECT_EQ(write(text.data(), text.size(), nullptr), FATCTX_OK);
  return nlohmann::json::parse(text.substr(0, size));
}

class CSocs : public ::testing::Test {
 protected:
  fatctx_error error = fresh_error();
};

TEST_F(CSocs, ARowIsFoundByAnyNameOfItsPart) {
  fatctx_soc_table table = {};
  ASSERT_EQ(fatctx_soc_table_read(nullptr, &table, &error), FATCTX_OK) << error.message;
  auto soc = sized<fatctx_soc>();
  ASSERT_EQ(fatctx_soc_table_find(table, "sm8750p", &soc, &error), FATCTX_OK) << error.message;

  EXPECT_EQ(text_of(soc.part), "SM8750");
  EXPECT_EQ(soc.rule, static_cast<std::uint32_t>(FATCTX_PART_STRIP_P));
  EXPECT_EQ(text_of(soc.arch), "v79");
  EXPECT_EQ(soc.qnn_soc, 69u);
  EXPECT_EQ(soc.vtcm_mb, 8u);
  EXPECT_EQ(fatctx_soc_table_find(table, "SM9999", &soc, &error), FATCTX_ERROR_NOT_FOUND);
  const auto json = json_of([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_soc_table_json(table, "SM8850", buffer, capacity, size, &error);
  });
  EXPECT_EQ(json["socs"][0]["qnn_soc"], 87);
  EXPECT_EQ(fatctx_soc_table_close(table, &error), FATCTX_OK);
}

TEST_F(CSocs, DetectionTakesATableAFolderAndWhatABackendSays) {
  const support::TempDir folder;
  std::filesystem::create_directories(folder.file("sys/devices/system/soc/soc0"));
  std::ofstream(folder.file("sys/devices/system/soc/soc0/id")) << "77\n";
  std::ofstream(folder.file("lab.csv")) << "#fatctx.soc_table/1\n#version,lab.1\n"
                                           "vendor,part,qnn_soc,kernel_ids,kernel_lookup\nQualcomm,ZZ100,5,77,77\n";
  fatctx_detect_options options = {};
  fatctx_detect_options_init(&options, sizeof options);
  ASSERT_EQ(fatctx_soc_table_read(folder.file("lab.csv").c_str(), &options.table, &error), FATCTX_OK) << error.message;
  options.root = folder.path().c_str();
  options.backend_soc = 5;
  options.backend_vtcm_mb = 16;
  fatctx_device device = {};
  ASSERT_EQ(fatctx_device_detect_with(&options, &device, &error), FATCTX_OK) << error.message;
  const auto found = json_of([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_device_detection_json(device, buffer, capacity, size, &error);
  });

  EXPECT_EQ(found["soc_table"], "lab.1");
  EXPECT_EQ(found["decided_by"], "backend");
  EXPECT_EQ(found["npu"]["part"], "ZZ100");
  fatctx_device npu = {};
  ASSERT_EQ(fatctx_device_npu(device, &npu, &error), FATCTX_OK) << error.message;
  const auto described = json_of([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_device_json(npu, buffer, capacity, size, &error);
  });
  EXPECT_EQ(described["vtcm_mb"], 16);
  fatctx_device none = {};
  EXPECT_EQ(fatctx_device_npu(npu, &none, &error), FATCTX_ERROR_NOT_FOUND);
  for (const fatctx_device handle : {device, npu}) EXPECT_EQ(fatctx_device_close(handle, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_soc_table_close(options.table, &error), FATCTX_OK);
}

TEST_F(CSocs, ASettingThatCannotBeUnderstoodIsInvalidConfig) {
  fatctx_detect_options options = {};
  fatctx_detect_options_init(&options, sizeof options);
  options.soc = "639";
  fatctx_device device = {};

  EXPECT_EQ(fatctx_device_detect_with(&options, &device, &error), FATCTX_ERROR_INVALID_CONFIG);
  EXPECT_THAT(error.message, HasSubstr("kernel:639"));
  options.soc = "69";
  ASSERT_EQ(fatctx_device_detect_with(&options, &device, &error), FATCTX_OK) << error.message;
  auto source = sized<fatctx_device_source>();
  ASSERT_EQ(fatctx_device_source_at(device, 0, &source, &error), FATCTX_OK);
  EXPECT_EQ(text_of(source.name), "option");
  EXPECT_EQ(fatctx_device_close(device, &error), FATCTX_OK);
}

}  // namespace soc_test
}  // namespace fatctx::capi::testing
