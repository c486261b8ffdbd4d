// The table of SoCs and detection with options, through C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "capi/c_model.h"
#include "support/temp_dir.h"

namespace fatctx::capi::testing {
namespace soc_test {

using ::testing::HasSubstr;

class CSocs : public ::testing::Test {
 protected:
  fatctx_error error = fresh_error();
};

TEST_F(CSocs, ARowIsJsonAndAPartIsUnderstoodByAnyOfItsNames) {
  fatctx_device device = {};
  ASSERT_EQ(fatctx_device_parse("sm8750p", &device, &error), FATCTX_OK) << error.message;
  const auto known = json_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_device_json(device, buffer, capacity, size, &error);
  });
  EXPECT_EQ(known["part"], "SM8750");
  EXPECT_EQ(known["qnn_soc"], 69);
  EXPECT_EQ(fatctx_device_close(device, &error), FATCTX_OK);

  fatctx_soc_table table = {};
  ASSERT_EQ(fatctx_soc_table_read(nullptr, &table, &error), FATCTX_OK) << error.message;
  const auto json = json_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_soc_table_json(table, "SM8850", buffer, capacity, size, &error);
  });
  EXPECT_EQ(json["schema"], "fatctx.socs/1");
  EXPECT_EQ(json["socs"][0]["qnn_soc"], 87);
  EXPECT_EQ(fatctx_soc_table_close(table, &error), FATCTX_OK);
}

TEST_F(CSocs, DetectionTakesATableAFolderAndWhatABackendSays) {
  const support::TempDir folder;
  std::filesystem::create_directories(folder.file("sys/devices/system/soc/soc0"));
  std::ofstream(folder.file("sys/devices/system/soc/soc0/id")) << "77\n";
  std::ofstream(folder.file("lab.csv")) << "#fatctx.soc_table/1\n#version,lab.1\n"
                                           "vendor,part,qnn_soc,kernel_ids,kernel_lookup\nQualcomm,ZZ100,5,77,77\n";
  auto options = sized<fatctx_detect_options>();
  ASSERT_EQ(fatctx_soc_table_read(folder.file("lab.csv").c_str(), &options.table, &error), FATCTX_OK) << error.message;
  options.root = folder.path().c_str();
  options.backend_soc = 5;
  options.backend_vtcm_mb = 16;
  fatctx_device device = {};
  ASSERT_EQ(fatctx_device_detect(&options, &device, &error), FATCTX_OK) << error.message;
  const auto found = json_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_device_detection_json(device, buffer, capacity, size, &error);
  });

  EXPECT_EQ(found["soc_table"], "lab.1");
  EXPECT_EQ(found["decided_by"], "backend");
  EXPECT_EQ(found["npu"]["part"], "ZZ100");
  fatctx_device npu = {};
  ASSERT_EQ(fatctx_device_npu(device, &npu, &error), FATCTX_OK) << error.message;
  const auto described = json_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_device_json(npu, buffer, capacity, size, &error);
  });
  EXPECT_EQ(described["vtcm_mb"], 16);
  fatctx_device none = {};
  EXPECT_EQ(fatctx_device_npu(npu, &none, &error), FATCTX_ERROR_NOT_FOUND);
  for (const fatctx_device handle : {device, npu}) EXPECT_EQ(fatctx_device_close(handle, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_soc_table_close(options.table, &error), FATCTX_OK);
}

TEST_F(CSocs, ASettingThatCannotBeUnderstoodIsInvalidConfig) {
  auto options = sized<fatctx_detect_options>();
  options.soc = "639";
  fatctx_device device = {};

  EXPECT_EQ(fatctx_device_detect(&options, &device, &error), FATCTX_ERROR_INVALID_CONFIG);
  EXPECT_THAT(error.message, HasSubstr("kernel:639"));
  options.soc = "69";
  ASSERT_EQ(fatctx_device_detect(&options, &device, &error), FATCTX_OK) << error.message;
  const auto found = json_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_device_detection_json(device, buffer, capacity, size, &error);
  });
  EXPECT_EQ(found["sources"][0]["id"], "option");
  EXPECT_EQ(fatctx_device_close(device, &error), FATCTX_OK);
}

}  // namespace soc_test
}  // namespace fatctx::capi::testing
