// From captured facts to the SoC: the detection vectors of detect_vectors.json, and the facts that they leave open.
#include "runtime/device/soc_rules.h"
#include "source_dir.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace fatctx::runtime {
namespace soc_rules_test {

using ::testing::Contains;
using ::testing::HasSubstr;
using Json = nlohmann::json;

CapturedText text_of(const Json& inputs, const char* key) {
  if (!inputs.contains(key)) return {};
  return {ReadState::kRead, inputs.at(key).get<std::string>()};
}

SocFacts facts_of(const Json& inputs) {
  SocFacts facts;
  facts.manufacturer = text_of(inputs, "ro.soc.manufacturer");
  facts.model = text_of(inputs, "ro.soc.model");
  facts.family = text_of(inputs, "soc0/family");
  facts.soc_id = text_of(inputs, "soc0/soc_id");
  facts.machine = text_of(inputs, "soc0/machine");
  facts.legacy_id = text_of(inputs, "soc/soc0/id");
  facts.compatible = text_of(inputs, "dt.compatible");
  facts.processor = text_of(inputs, "windows.ProcessorNameString");
  facts.cpu_arch = inputs.value("arch", "");
  return facts;
}

Detection judged(const SocFacts& facts, const std::optional<BackendPlatform>& backend = {}) {
  return judge_soc(facts, SocTable::built_in(), {}, backend);
}

const DetectionSource& source(const Detection& detection, std::string_view id) {
  const auto found = std::ranges::find(detection.sources, id, &DetectionSource::id);
  if (found == detection.sources.end()) throw std::runtime_error(fmt::format("no source {}", id));
  return *found;
}

void expect_device(const Json& expect, const Detection& detection) {
  const Device npu = detection.npu.value_or(Device{.backend = "none"});
  if (expect.contains("part")) {
    EXPECT_EQ(npu.part.value_or(""), expect["part"]);
  }
  if (expect.contains("qnn_soc")) {
    EXPECT_EQ(npu.qnn_soc.value_or(0), expect["qnn_soc"]);
  }
  if (expect.contains("vtcm_mb")) {
    EXPECT_EQ(npu.vtcm_mb.value_or(0), expect["vtcm_mb"]);
  }
  if (expect.contains("arch")) {
    EXPECT_EQ(npu.arch.value_or("v0"), fmt::format("v{}", expect["arch"].get<int>()));
  }
  EXPECT_EQ(detection.decided_by, expect["source"]);
  if (expect.contains("variant")) {
    EXPECT_EQ(detection.variant, expect["variant"]);
  }
  if (expect.contains("vendor")) {
    EXPECT_EQ(detection.vendor, expect["vendor"]);
  }
  if (expect.contains("rule")) {
    EXPECT_EQ(part_rule_name(detection.rule.value()), expect["rule"]);
  }
  if (expect.contains("entry")) {
    EXPECT_EQ(source(detection, "device_tree").note, fmt::format("entry {}", expect["entry"].get<int>()));
  }
  if (expect.contains("arch_name")) {
    EXPECT_EQ(source(detection, "generic").raw, expect["arch_name"]);
  }
  const std::vector<std::string> warnings =
      expect.contains("warning") ? std::vector<std::string>{expect["warning"]} : std::vector<std::string>{};
  EXPECT_EQ(detection.warnings, warnings);
}

// Every part, variant and number that a vector expects distinguishes it from the others; see detect_vectors.json.
TEST(SocVectors, GiveTheSocThatTheyExpect) {
  std::ifstream stream(FATCTX_SOURCE_DIR "/tests/runtime/device/detect_vectors.json");
  const Json vectors = Json::parse(stream).at("detection");
  ASSERT_EQ(vectors.size(), 24u);
  std::set<std::string> seen;
  for (const Json& vector : vectors) {
    const Json& inputs = vector["inputs"];
    const Json& expect = vector["expect"];
    SCOPED_TRACE(fmt::format("{}: {}", vector["id"].get<std::string>(), vector["shows"].get<std::string>()));
    EXPECT_TRUE(seen.insert(vector["id"]).second);
    if (!inputs.contains("option.soc")) {
      expect_device(expect, judged(facts_of(inputs)));
      continue;
    }
    const auto detection = detect_device({.soc = inputs["option.soc"]});
    if (expect.contains("error")) {
      ASSERT_FALSE(detection.ok());
      EXPECT_EQ(detection.error().code, ErrorCode::kInvalidConfig);
    } else {
      ASSERT_TRUE(detection.ok()) << detection.error().message;
      expect_device(expect, detection.value());
    }
  }
}

TEST(SocOption, AKernelNumberIsToldFromAQnnNumber) {
  const auto bare = detect_device({.soc = "639"});
  const auto named = detect_device({.soc = "kernel:639"});

  ASSERT_FALSE(bare.ok());
  EXPECT_THAT(bare.error().message, HasSubstr("soc is \"639\": a bare number is a QNN number, and 639 is the kernel's "
                                              "number of SM8750; write kernel:639, SM8750 or the QNN number 69"));
  ASSERT_TRUE(named.ok()) << named.error().message;
  EXPECT_EQ(named.value().npu->part, "SM8750");
  EXPECT_EQ(named.value().variant, "SM8750P");
}

TEST(SocOption, WhatIsMisspeltGetsASuggestion) {
  const auto detection = detect_device({.soc = "sm8570"});

  ASSERT_FALSE(detection.ok());
  EXPECT_THAT(detection.error().message, HasSubstr("did you mean SM8"));
  EXPECT_THAT(detection.error().message, HasSubstr("understood are parts (SM8750), QNN numbers (69)"));
}

TEST(SocOption, TakesTheMachinesPlaceWholly) {
  const auto detection = detect_device({.soc = "SM8650", .vtcm_mb = 4});

  ASSERT_TRUE(detection.ok()) << detection.error().message;
  EXPECT_EQ(detection.value().device.backend, "htp");
  EXPECT_EQ(device_to_json(detection.value().device), device_to_json(detection.value().npu.value()));
  EXPECT_EQ(detection.value().npu->vtcm_mb, 4u);
  ASSERT_EQ(detection.value().sources.size(), 1u) << "nothing of the machine is asked";
  EXPECT_EQ(detection.value().sources[0].state, "used");
}

TEST(SocOption, WinsOverAnArchThatContradictsItAndSaysSo) {
  const auto both = detect_device({.soc = "SM8650", .arch = "v79"});
  const auto same = detect_device({.soc = "SM8650", .arch = "v75"});
  const auto arch = detect_device({.arch = "v79"});

  ASSERT_TRUE(both.ok() && same.ok() && arch.ok());
  EXPECT_EQ(both.value().npu->arch, "v75");
  EXPECT_THAT(both.value().warnings, Contains("options_disagree"));
  EXPECT_TRUE(same.value().warnings.empty());
  EXPECT_EQ(arch.value().npu->arch, "v79");
  EXPECT_FALSE(arch.value().npu->part);
}

TEST(SocOption, RefusesAnArchAndAVtcmThatAreNone) {
  for (const auto& options : {DetectOptions{.arch = "79"}, DetectOptions{.arch = "v"}, DetectOptions{.vtcm_mb = 0},
                              DetectOptions{.vtcm_mb = 8192}}) {
    const auto detection = detect_device(options);
    ASSERT_FALSE(detection.ok()) << options.arch;
    EXPECT_EQ(detection.error().code, ErrorCode::kInvalidConfig);
  }
}

TEST(SocSources, TheBackendTellsTheVtcmAndAnotherSourceThePartOfASharedNumber) {
  SocFacts facts;
  facts.compatible = {ReadState::kRead, std::string("qcom,sa8775p-ride\0qcom,sa8775p\0", 31)};
  const Detection detection = judged(facts, BackendPlatform{.qnn_soc = 52, .arch = "v73", .vtcm_mb = 6});

  EXPECT_EQ(detection.decided_by, "backend");
  EXPECT_EQ(detection.npu->part, "SA8775");
  EXPECT_EQ(detection.variant, "SA8775P");
  EXPECT_EQ(detection.npu->vtcm_mb, 6u);
  EXPECT_EQ(source(detection, "device_tree").state, "agrees");
  EXPECT_TRUE(detection.warnings.empty());
  const auto part = std::ranges::find(detection.origins, "part", &FactOrigin::fact);
  ASSERT_NE(part, detection.origins.end());
  EXPECT_EQ(part->source, "device_tree");
  const auto vtcm = std::ranges::find(detection.origins, "vtcm_mb", &FactOrigin::fact);
  ASSERT_NE(vtcm, detection.origins.end());
  EXPECT_EQ(vtcm->source, "backend");
  EXPECT_FALSE(vtcm->from_table);
}

TEST(SocSources, ABackendThatSaysNothingDoesNotDecide) {
  SocFacts facts;
  facts.legacy_id = {ReadState::kRead, "415"};
  const Detection detection = judged(facts, BackendPlatform{.vtcm_mb = 2});

  EXPECT_EQ(detection.decided_by, "legacy.soc_id");
  EXPECT_EQ(source(detection, "backend").state, "unparsable");
  EXPECT_EQ(detection.npu->vtcm_mb, 4u);
}

TEST(SocSources, EachTellsItsStateAndWhy) {
  SocFacts facts;
  facts.family = {ReadState::kRead, "Snapdragon\n"};
  facts.soc_id = {ReadState::kRead, "not a number\n"};
  facts.machine = {ReadState::kRead, "Kodiak\n"};
  facts.legacy_id = {ReadState::kUnreadable, "permission denied"};
  facts.compatible = {ReadState::kRead, "qcom,sm8650"};
  const Detection detection = judged(facts);

  EXPECT_EQ(source(detection, "soc0.soc_id").state, "unparsable");
  EXPECT_EQ(source(detection, "soc0.soc_id").note, "no decimal number");
  EXPECT_EQ(source(detection, "soc0.machine").state, "unparsable");
  EXPECT_EQ(source(detection, "soc0.machine").note, "a code name, no part name");
  EXPECT_EQ(source(detection, "legacy.soc_id").state, "unreadable");
  EXPECT_EQ(source(detection, "legacy.soc_id").note, "permission denied");
  EXPECT_EQ(source(detection, "ro.soc.model").state, "absent");
  EXPECT_EQ(source(detection, "device_tree").state, "used");
  EXPECT_EQ(source(detection, "device_tree").raw, "qcom,sm8650");
}

TEST(SocSources, AnUnknownPartKeepsItsBackendAndAPartThatHoldsNoHtpRecordsHasAnotherOne) {
  SocFacts unknown;
  unknown.manufacturer = {ReadState::kRead, "QTI"};
  unknown.model = {ReadState::kRead, "SM9999"};
  SocFacts old;
  old.manufacturer = {ReadState::kRead, "QTI"};
  old.model = {ReadState::kRead, "SM8250"};
  SocFacts mediatek;
  mediatek.manufacturer = {ReadState::kRead, "MediaTek"};
  mediatek.model = {ReadState::kRead, "MT9999"};

  EXPECT_EQ(judged(unknown).npu->backend, "htp");
  EXPECT_EQ(judged(unknown).rule, PartRule::kUnknown);
  EXPECT_FALSE(judged(unknown).npu->arch);
  EXPECT_EQ(judged(old).npu->backend, "dsp");
  EXPECT_EQ(judged(mediatek).npu->backend, "neuropilot");
  EXPECT_EQ(judged(mediatek).vendor, "MediaTek");
}

TEST(SocSources, AModelOfAnotherVendorsTableIsNotTakenForAHit) {
  SocFacts facts;
  facts.manufacturer = {ReadState::kRead, "MediaTek"};
  facts.model = {ReadState::kRead, "SM8750"};
  const Detection detection = judged(facts);

  EXPECT_EQ(detection.rule, PartRule::kUnknown);
  EXPECT_FALSE(detection.npu->qnn_soc);
}

TEST(SocSources, OnWindowsTheAdapterIsChosenByVendorAndTellsAFamily) {
  SocFacts facts;
  facts.displays = {{"PCI\\VEN_10DE&DEV_2684", "NVIDIA GeForce RTX 4090 X2-45"},
                    {"ACPI\\VEN_QCOM&DEV_0C36", "Qualcomm(R) Adreno(TM) X1-45 GPU"}};
  facts.processor = {ReadState::kRead, "Snapdragon(R) X Plus - X1P42100 - Qualcomm(R) Oryon(TM) CPU"};
  const Detection detection = judged(facts);

  EXPECT_EQ(detection.decided_by, "windows.gpu");
  EXPECT_EQ(detection.npu->part, "SC8380XP");
  EXPECT_EQ(source(detection, "windows.cpu").state, "agrees") << "a family does not tell siblings apart";
  facts.displays[1].description = "Qualcomm(R) Adreno(TM) X2-45 GPU";
  EXPECT_EQ(judged(facts).npu->part, "SC8480XP");
  EXPECT_THAT(judged(facts).warnings, Contains("sources_disagree"));
}

TEST(WindowsNames, AreFoundInWhatDriversAndProcessorsSay) {
  EXPECT_EQ(adreno_generation("Qualcomm(R) Adreno(TM) X1-85 GPU"), "X1");
  EXPECT_EQ(adreno_generation("Qualcomm(R) Adreno(TM) X12-5"), "X12");
  EXPECT_EQ(adreno_generation("Qualcomm(R) Adreno(TM) 690 GPU"), "");
  EXPECT_EQ(adreno_generation("Adreno X-85"), "");
  EXPECT_EQ(adreno_generation("X1-85"), "");
  EXPECT_EQ(snapdragon_x_part("Snapdragon(R) X 12-core X1E80100 @ 3.40 GHz"), "X1E80100");
  EXPECT_EQ(snapdragon_x_part("X1P42100"), "X1P42100");
  EXPECT_EQ(snapdragon_x_part("Snapdragon X1E80"), "");
  EXPECT_EQ(snapdragon_x_part("Snapdragon X1"), "");
  EXPECT_EQ(snapdragon_x_part("AMD FX1E80100"), "");
  EXPECT_EQ(snapdragon_x_part("Snapdragon X1D80100"), "");
}

TEST(RawValues, ArePrintable) {
  EXPECT_EQ(printable("SM8750\n"), "SM8750");
  EXPECT_EQ(printable(std::string_view("a\0b\0", 4)), "a\\x00b");
  EXPECT_EQ(printable("\x1b[2J\xff"), "\\x1b[2J\\xff");
}

TEST(DeviceFor, IsTheNpuOnlyIfARecordIsForItsBackend) {
  Detection detection;
  detection.npu = Device{.backend = "htp", .part = "SM8650"};
  const Candidate cpu = {.record_id = 1, .key = {.backend = "cpu"}};
  const Candidate htp = {.record_id = 2, .key = {.backend = "htp"}};

  EXPECT_EQ(device_for(detection, std::vector{cpu}).backend, "cpu");
  EXPECT_EQ(device_for(detection, std::vector{cpu, htp}).backend, "htp");
  detection.npu.reset();
  EXPECT_EQ(device_for(detection, std::vector{htp}).backend, "cpu");
}

TEST(DeviceFor, GraphsForOnnxRuntimeAreJudgedForItUnlessTheProcessorHasRecordsOfItsOwn) {
  Candidate cpu;
  cpu.key.backend = "cpu";
  Candidate ort;
  ort.key.backend = "ort-cpu";
  Detection detection = detect_device();
  detection.npu.reset();
  EXPECT_EQ(device_for(detection, std::vector{ort}).backend, "ort-cpu");
  EXPECT_EQ(device_for(detection, std::vector{ort}).arch, "onnx");
  EXPECT_EQ(device_for(detection, std::vector{ort, cpu}).backend, "cpu");
  EXPECT_EQ(device_for(detection, std::vector{cpu}).backend, "cpu");
  detection.onnxruntime.reset();  // the device was given
  EXPECT_EQ(device_for(detection, std::vector{ort}).backend, "cpu");
}

}  // namespace soc_rules_test
}  // namespace fatctx::runtime
