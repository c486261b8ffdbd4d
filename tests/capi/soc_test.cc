// The table of SoCs and detection with options, through C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <span>
#include <string>

#include "capi/c_model.h"
#include "support/opened.h"
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

// A context binary for backend htp, with no target so far.
fatctx_pack_record binary(const char* name) {
  auto record = sized<fatctx_pack_record>();
  fatctx_pack_record_init(&record, sizeof record);
  record.type = FATCTX_RECORD_CONTEXT_BINARY;
  record.name = name;
  record.bytes = name;
  record.size = std::strlen(name);
  record.group = "g";
  record.unit = name;
  record.backend = "htp";
  return record;
}

class CTargets : public CSocs {
 protected:
  void SetUp() override { ASSERT_EQ(fatctx_packer_create(nullptr, &packer, &error), FATCTX_OK) << error.message; }
  void TearDown() override { EXPECT_EQ(fatctx_packer_close(packer, &error), FATCTX_OK); }
  void add(const fatctx_pack_record& record) {
    ASSERT_EQ(fatctx_packer_add(packer, &record, &error), FATCTX_OK) << error.message;
  }
  void refuse(const fatctx_pack_record& record, const char* text) {
    EXPECT_EQ(fatctx_packer_add(packer, &record, &error), FATCTX_ERROR_INVALID_ARGUMENT);
    EXPECT_THAT(error.message, HasSubstr(text));
  }
  // Returns the targets of the published records, by name.
  std::map<std::string, std::string> publish() {
    EXPECT_EQ(fatctx_packer_publish(packer, path.c_str(), nullptr, &error), FATCTX_OK) << error.message;
    auto opened = Container::open(path);
    std::map<std::string, std::string> found;
    if (!opened.ok()) return found;
    for (const RecordInfo& record : support::records_in(opened.value())) {
      if (record.type == RecordType::kContextBinary) found.emplace(record.name, target_text(record.key));
    }
    return found;
  }

  support::TempDir folder;
  std::string path = folder.file("m.fatctx");
  fatctx_packer packer = {};
};

TEST_F(CTargets, ASocIsNamedInTheWordsOfADevice) {
  for (const char* word : {"SM8650", "57", "kernel:557", "Snapdragon 8 Gen 3"}) {
    auto record = binary(word[0] == 'k' ? "kernel" : word);
    record.arch = word;
    add(record);
  }
  auto number = binary("number");
  number.qnn_soc = 57;
  add(number);
  auto part = binary("part");
  part.part = "SM8650";
  part.vtcm_mb = 4;
  add(part);

  const std::map<std::string, std::string> found = publish();

  EXPECT_EQ(found.size(), 6U);
  for (const auto& [name, target] : found) {
    EXPECT_EQ(target, name == "part" ? "htp SM8650 soc 57 v75 vtcm 4" : "htp SM8650 soc 57 v75 vtcm 8") << name;
  }
}

TEST_F(CTargets, WhatContradictsTheTableOrReachesNoDeviceIsRefusedUnlessItIsAllowed) {
  auto contradiction = binary("contradiction");
  contradiction.arch = "v79";
  contradiction.qnn_soc = 57;
  refuse(contradiction,
         "record \"contradiction\": SoC 57 has arch v75, and the target says v79; correct one of the two");
  auto unreachable = binary("unreachable");
  unreachable.arch = "v99";
  refuse(unreachable, "no device gets this record");
  contradiction.allow_unreachable = 1;
  unreachable.allow_unreachable = 1;
  add(contradiction);
  add(unreachable);

  const std::map<std::string, std::string> found = publish();

  EXPECT_EQ(found.at("contradiction"), "htp soc 57 v79");
  EXPECT_EQ(found.at("unreachable"), "htp v99");
  const auto report = json_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_packer_report_json(packer, buffer, capacity, size, &error);
  });
  ASSERT_EQ(report["notes"].size(), 1U);
  EXPECT_EQ(
      report["notes"][0],
      "record \"contradiction\": SoC 57 has arch v75, and the target says v79; the target is kept as it is stated");
}

TEST_F(CTargets, AnOwnTableCompletesThem) {
  std::ofstream(folder.file("lab.csv")) << "#fatctx.soc_table/1\n#version,lab.1\n"
                                           "vendor,part,qnn_soc,arch,vtcm_mb\nQualcomm,ZZ100,5,v75,4\n";
  auto record = binary("lab");
  record.arch = "ZZ100";
  refuse(record, "ZZ100");
  ASSERT_EQ(fatctx_soc_table_read(folder.file("lab.csv").c_str(), &record.soc_table, &error), FATCTX_OK)
      << error.message;
  add(record);
  EXPECT_EQ(fatctx_soc_table_close(record.soc_table, &error), FATCTX_OK);
  record.name = "closed";
  EXPECT_EQ(fatctx_packer_add(packer, &record, &error), FATCTX_ERROR_STALE_HANDLE);

  EXPECT_EQ(publish().at("lab"), "htp ZZ100 soc 5 v75 vtcm 4");
}

TEST_F(CTargets, AFilterTakesTheSameWords) {
  for (const char* word : {"SM8650", "69", "v73"}) {
    auto record = binary(word);
    record.arch = word;
    record.unit = "u";
    add(record);
  }
  (void)publish();
  const auto written = Container::open(path);
  ASSERT_TRUE(written.ok());
  fatctx_container container = {};
  ASSERT_EQ(fatctx_container_open(path.c_str(), nullptr, &container, &error), FATCTX_OK) << error.message;
  for (const char* word : {"Snapdragon 8 Gen 3", "SM8750", "v73"}) {
    fatctx_target_filter filter = {};
    filter.arch = word;
    std::uint32_t ids[8] = {};
    std::uint64_t count = 0;
    ASSERT_EQ(fatctx_container_records_left(container, &filter, 1, ids, 8, &count, &error), FATCTX_OK)
        << word << ": " << error.message;
    std::size_t binaries = 0;
    for (const std::uint32_t id : std::span(ids).first(count)) {
      if (written.value().record(id).value().type == RecordType::kContextBinary) ++binaries;
    }
    EXPECT_EQ(binaries, 1U) << word;
  }
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

}  // namespace soc_test
}  // namespace fatctx::capi::testing
