#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fatctx/select.h"

namespace fatctx {
namespace device_json_test {

using ::testing::HasSubstr;

const Device kFull = {.backend = "htp",
                      .part = "SM8650",
                      .qnn_soc = 57,
                      .arch = "v75",
                      .features = {"fp16", "int4"},
                      .vtcm_mb = 8,
                      .sdk = Version{2, 50, 0, 0},
                      .api = Version{2, 33, 1, 0},
                      .blob = Version{3, 3, 0, 4}};

TEST(DeviceJson, IsWrittenInAFixedOrderWithItsSchema) {
  EXPECT_EQ(device_to_json({.arch = "x86-64-v3", .features = {"avx-vnni"}}),
            "{\n"
            "  \"schema\": \"fatctx.device/1\",\n"
            "  \"backend\": \"cpu\",\n"
            "  \"arch\": \"x86-64-v3\",\n"
            "  \"features\": [\n"
            "    \"avx-vnni\"\n"
            "  ]\n"
            "}");
}

TEST(DeviceJson, IsAsciiLikeEveryReport) {
  const std::string json = device_to_json({.backend = "cpu", .part = "\xC3\xA4", .arch = {}});

  EXPECT_NE(json.find("\"part\": \"\\u00e4\""), std::string::npos) << json;
  EXPECT_EQ(device_from_json(json).value().part, "\xC3\xA4");
}

TEST(DeviceJson, ReadsBackEveryField) {
  const auto copy = device_from_json(device_to_json(kFull));

  ASSERT_TRUE(copy.ok()) << copy.error().message;
  const Device& device = copy.value();
  EXPECT_EQ(device.backend, kFull.backend);
  EXPECT_EQ(device.part, kFull.part);
  EXPECT_EQ(device.qnn_soc, kFull.qnn_soc);
  EXPECT_EQ(device.arch, kFull.arch);
  EXPECT_EQ(device.features, kFull.features);
  EXPECT_EQ(device.vtcm_mb, kFull.vtcm_mb);
  EXPECT_EQ(device.sdk, kFull.sdk);
  EXPECT_EQ(device.api, kFull.api);
  EXPECT_EQ(device.blob, kFull.blob);
}

TEST(DeviceJson, WhatIsLeftOutIsUnknown) {
  const auto device = device_from_json(R"({"schema": "fatctx.device/1", "backend": "htp"})");

  ASSERT_TRUE(device.ok()) << device.error().message;
  EXPECT_EQ(device.value().backend, "htp");
  EXPECT_FALSE(device.value().part || device.value().qnn_soc || device.value().arch || device.value().vtcm_mb);
  EXPECT_FALSE(device.value().sdk || device.value().api || device.value().blob);
  EXPECT_TRUE(device.value().features.empty());
}

TEST(DeviceJson, FeatureWordsAreSortedAndUnique) {
  const auto device =
      device_from_json(R"({"schema": "fatctx.device/1", "backend": "cpu", "features": ["sve", "dotprod", "sve"]})");

  ASSERT_TRUE(device.ok()) << device.error().message;
  EXPECT_EQ(device.value().features, (std::vector<std::string>{"dotprod", "sve"}));
}

struct Refused {
  const char* json;
  const char* place;  // the JSON pointer or the byte
  const char* found;
};
const Refused kRefused[] = {
    {R"({"schema":"fatctx.device/1","backend":"cpu","vtcm":8})", "/vtcm:", "an unknown key"},
    {R"({"schema":"fatctx.device/1","backend":"cpu","a/b~c":8})", "/a~1b~0c:", "an unknown key"},
    {R"({"schema":"fatctx.device/1","backend":"cpu","arch":"v75","arch":"v79"})", "/arch:", "a second time"},
    {R"({"backend":"cpu"})", "/schema:", "nothing"},
    {R"({"schema":"fatctx.device/2","backend":"cpu"})", "/schema:", "\"fatctx.device/2\""},
    {R"({"schema":1,"backend":"cpu"})", "/schema:", "found 1"},
    {R"({"schema":"fatctx.device/1"})", "/backend:", "nothing"},
    {R"({"schema":"fatctx.device/1","backend":""})", "/backend:", "\"\""},
    {R"({"schema":"fatctx.device/1","backend":null})", "/backend:", "null"},
    {R"({"schema":"fatctx.device/1","backend":"cpu","part":7})", "/part:", "found 7"},
    {R"({"schema":"fatctx.device/1","backend":"cpu","qnn_soc":"57"})", "/qnn_soc:", "\"57\""},
    {R"({"schema":"fatctx.device/1","backend":"cpu","qnn_soc":0})", "/qnn_soc:", "found 0"},
    {R"({"schema":"fatctx.device/1","backend":"cpu","qnn_soc":-1})", "/qnn_soc:", "found -1"},
    {R"({"schema":"fatctx.device/1","backend":"cpu","qnn_soc":4294967296})", "/qnn_soc:", "found 4294967296"},
    {R"({"schema":"fatctx.device/1","backend":"cpu","vtcm_mb":8.5})", "/vtcm_mb:", "found 8.5"},
    {R"({"schema":"fatctx.device/1","backend":"cpu","sdk":2.5})", "/sdk:", "found 2.5"},
    {R"({"schema":"fatctx.device/1","backend":"cpu","sdk":"2.x"})", "/sdk:", "\"2.x\""},
    {R"({"schema":"fatctx.device/1","backend":"cpu","api":"0.0"})", "/api:", "\"0.0\""},
    {R"({"schema":"fatctx.device/1","backend":"cpu","features":"amx"})", "/features:", "\"amx\""},
    {R"({"schema":"fatctx.device/1","backend":"cpu","features":["amx","A B"]})", "/features/1:", "\"A B\""},
    {R"({"schema":"fatctx.device/1","backend":"cpu","features":["amx,sve"]})", "/features/0:", "\"amx,sve\""},
    {R"([1,2])", "/:", "[1,2]"},
    {R"({"schema":"fatctx.device/1",})", "byte 29", "not JSON"},
    {R"({"schema":"fatctx.device/1","backend":"cpu"} x)", "byte 46", "not JSON"},
    {"", "byte 1", "not JSON"},
    {R"({"a":[[[[[[[[[]]]]]]]]]})", "nested", "more than 8 deep"},
};

TEST(DeviceJson, RefusesWhatWritingNeverProducesAndSaysWhere) {
  for (const Refused& row : kRefused) {
    const auto device = device_from_json(row.json);
    ASSERT_FALSE(device.ok()) << row.json;
    EXPECT_EQ(device.error().code, ErrorCode::kInvalidArgument) << row.json;
    EXPECT_THAT(device.error().message, HasSubstr(row.place)) << row.json;
    EXPECT_THAT(device.error().message, HasSubstr(row.found)) << row.json;
    EXPECT_EQ(device.error().message.find('\n'), std::string::npos) << row.json;
  }
}

TEST(DeviceJson, RefusesMoreThan64KiBBeforeReadingIt) {
  const std::string blank(65536, ' ');

  const auto device = device_from_json(R"({"schema": "fatctx.device/1", "backend": "cpu"})" + blank);

  ASSERT_FALSE(device.ok());
  EXPECT_THAT(device.error().message, HasSubstr("65583 bytes; allowed are 65536"));
}

TEST(DeviceJson, EveryPrefixOfADescriptionIsRefused) {
  const std::string whole = device_to_json(kFull);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(device_from_json(std::string_view(whole).substr(0, size)).ok()) << size;
  }
}

struct Text {
  const char* text;
  const char* backend;
  const char* arch;
  std::vector<std::string> features;
};
const Text kTexts[] = {
    {"x86-64-v3", "cpu", "x86-64-v3", {}},
    {"x86-64-v1", "cpu", "x86-64-v1", {}},
    {"x86-64", "cpu", "x86-64-v1", {}},
    {"x86-64-v4+avx512-vnni+amx+amx", "cpu", "x86-64-v4", {"amx", "avx512-vnni"}},
    {"aarch64+dotprod+i8mm", "cpu", "aarch64", {"dotprod", "i8mm"}},
    {"cpu:aarch64", "cpu", "aarch64", {}},
    {"cpu:x86-64-v2", "cpu", "x86-64-v2", {}},
    {"v75", "htp", "v75", {}},
    {"htp:v81", "htp", "v81", {}},
};

TEST(DeviceText, UnderstandsArchsWithFeaturesAndBackends) {
  for (const Text& row : kTexts) {
    const auto device = device_from_text(row.text);
    ASSERT_TRUE(device.ok()) << row.text << ": " << device.error().message;
    EXPECT_EQ(device.value().backend, row.backend) << row.text;
    EXPECT_EQ(device.value().arch, row.arch) << row.text;
    EXPECT_EQ(device.value().features, row.features) << row.text;
    EXPECT_FALSE(device.value().part || device.value().qnn_soc || device.value().vtcm_mb) << row.text;
  }
}

TEST(DeviceText, UnderstandsBackendsWithoutATable) {
  const auto npu = device_from_text("openvino:NPU");
  ASSERT_TRUE(npu.ok()) << npu.error().message;
  EXPECT_EQ(npu.value().backend, "openvino");
  EXPECT_EQ(npu.value().arch, "NPU");
  const auto bare = device_from_text("tensorrt");
  ASSERT_TRUE(bare.ok()) << bare.error().message;
  EXPECT_EQ(bare.value().backend, "tensorrt");
  EXPECT_FALSE(bare.value().arch);
  for (const char* text : {"ort-cpu", "ort-cpu:onnx"}) {
    const auto ours = device_from_text(text);
    ASSERT_TRUE(ours.ok()) << ours.error().message;
    EXPECT_EQ(ours.value().backend, "ort-cpu");
    EXPECT_EQ(ours.value().arch, "onnx");
  }
  for (const char* text : {"openvino:", "openvino:+x", "openvino:N PU", "ort-cpu:v75", "openvina:NPU", "ort-cpux"}) {
    const auto refused = device_from_text(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_THAT(refused.error().message, HasSubstr("(ort-cpu, openvino:NPU)")) << text;
  }
}

TEST(DeviceText, RefusesEverythingElseAndListsWhatIsUnderstood) {
  for (const char* text :
       {"",         "x86",          "x86-64-v0",   "x86-64-v5",   "x86-64-v03", "X86-64-v3", " aarch64",
        "aarch64+", "aarch64++sve", "aarch64+Dot", "aarch64,sve", "v",          "v0",        "v075",
        "v75+x",    "639",          "9999",        "SM8560",      "cpu:",       "cpu:v75",   "htp:aarch64",
        "SM8650+x", "cpu:SM8650",   "kernel:",     "kernel:69",   "htp:SM8250", "SM87xx!",   "kernel:v79",
        "gpu:v75",  ":v75",         "+sve",        "v99999999999"}) {
    const auto device = device_from_text(text);
    ASSERT_FALSE(device.ok()) << text;
    EXPECT_EQ(device.error().code, ErrorCode::kInvalidArgument) << text;
    EXPECT_THAT(device.error().message, HasSubstr("device \"" + std::string(text) + "\": ")) << text;
    EXPECT_THAT(device.error().message, HasSubstr("understood are x86-64, x86-64-v1 to x86-64-v4 and aarch64")) << text;
  }
}

struct NamedSoc {
  const char* text;
  const char* backend;
  const char* part;
  std::uint32_t qnn_soc;
  const char* arch;
  std::uint32_t vtcm_mb;
};
const NamedSoc kSocs[] = {
    {"SM8650", "htp", "SM8650", 57, "v75", 8},     {"sm8750-ac", "htp", "SM8750", 69, "v79", 8},
    {"69", "htp", "SM8750", 69, "v79", 8},         {"52", "htp", "", 52, "v73", 0},
    {"kernel:639", "htp", "SM8750", 69, "v79", 8}, {"htp:43", "htp", "SM8550", 43, "v73", 8},
    {"SM8250", "dsp", "SM8250", 21, "v66", 0},
};

TEST(DeviceText, UnderstandsSocsByPartQnnNumberAndKernelNumber) {
  for (const NamedSoc& row : kSocs) {
    const auto device = device_from_text(row.text);
    ASSERT_TRUE(device.ok()) << row.text << ": " << device.error().message;
    EXPECT_EQ(device.value().backend, row.backend) << row.text;
    EXPECT_EQ(device.value().part.value_or(""), row.part) << row.text;
    EXPECT_EQ(device.value().qnn_soc, row.qnn_soc) << row.text;
    EXPECT_EQ(device.value().arch, row.arch) << row.text;
    EXPECT_EQ(device.value().vtcm_mb.value_or(0), row.vtcm_mb) << row.text;
  }
}

}  // namespace device_json_test
}  // namespace fatctx
