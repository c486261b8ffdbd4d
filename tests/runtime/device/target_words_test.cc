#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fatctx/device.h"
#include "runtime/device/cpu_facts.h"

namespace fatctx {
namespace target_words_test {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

Words unknown(std::string_view backend, std::string_view arch, const Words& features = {}) {
  return unknown_target_words(backend, arch, features);
}

TEST(UnknownTargetWords, WhatMachinesAreAskedForIsKnown) {
  for (const std::string& level : runtime::x86_levels()) {
    EXPECT_THAT(unknown("cpu", level, runtime::x86_features()), IsEmpty()) << level;
  }
  EXPECT_THAT(runtime::x86_levels(), ElementsAre("x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"));
  EXPECT_THAT(unknown("cpu", "x86-64"), IsEmpty());
  EXPECT_THAT(unknown("cpu", "aarch64", runtime::aarch64_features()), IsEmpty());
  EXPECT_THAT(unknown("cpu", ""), IsEmpty());
  EXPECT_THAT(unknown("htp", "v75"), IsEmpty());
  EXPECT_THAT(unknown("htp", ""), IsEmpty());
}

TEST(UnknownTargetWords, ThisMachineIsKnown) {
  const Device device = detect_device().device;
  EXPECT_THAT(unknown(device.backend, device.arch.value_or(""), device.features), IsEmpty());
}

TEST(UnknownTargetWords, OfOtherBackendsNothingIsKnown) {
  EXPECT_THAT(unknown("openvino", "cpu"), IsEmpty());
  EXPECT_THAT(unknown("ort-cpu", "onnx", {"anything"}), IsEmpty());
}

TEST(UnknownTargetWords, ASlipInAnArchSaysWhatIsNear) {
  EXPECT_THAT(
      unknown("cpu", "x86_64-v3"),
      ElementsAre("\"x86_64-v3\" is not an arch that fatctx finds on a machine of backend cpu (x86-64-v1, x86-64-v2, "
                  "x86-64-v3, x86-64-v4, x86-64, aarch64); did you mean \"x86-64-v3\"?"));
  EXPECT_THAT(unknown("cpu", "x86_64"), ElementsAre(EndsWith("; did you mean \"x86-64\"?")));
  EXPECT_THAT(unknown("cpu", "amd64"), ElementsAre(EndsWith("; did you mean \"x86-64\"?")));
  EXPECT_THAT(unknown("cpu", "arm64"), ElementsAre(EndsWith("; did you mean \"aarch64\"?")));
  EXPECT_THAT(unknown("cpu", "arm64-v8a"), ElementsAre(EndsWith("; did you mean \"aarch64\"?")));
  EXPECT_THAT(unknown("cpu", "riscv64"), ElementsAre(EndsWith("x86-64, aarch64)")));
}

TEST(UnknownTargetWords, OfAnArchThatIsNotKnownNoFeatureIsSpokenOf) {
  EXPECT_EQ(unknown("cpu", "riscv64", {"v"}).size(), 1u);
}

TEST(UnknownTargetWords, AHexagonArchIsWrittenInOneForm) {
  for (const char* const written : {"75", "V75", "hexagon-v75"}) {
    const std::string quoted = '"' + std::string(written) + '"';
    EXPECT_THAT(unknown("htp", written),
                ElementsAre(quoted + " is not a Hexagon arch, such as \"v75\"; did you mean \"v75\"?"));
  }
  EXPECT_THAT(unknown("htp", "hexagon"), ElementsAre("\"hexagon\" is not a Hexagon arch, such as \"v75\""));
  EXPECT_THAT(unknown("htp", "v7a"), ElementsAre("\"v7a\" is not a Hexagon arch, such as \"v75\""));
}

TEST(UnknownTargetWords, AFeatureIsKnownOfItsOwnInstructionSet) {
  EXPECT_THAT(
      unknown("cpu", "aarch64", {"dotpord", "i8mm"}),
      ElementsAre("\"dotpord\" is not a feature that fatctx looks for on aarch64 (bf16, dotprod, fp16, i8mm, sme, "
                  "sve, sve2); did you mean \"dotprod\"?"));
  // The level includes it, so no device names it.
  EXPECT_THAT(unknown("cpu", "x86-64-v3", {"avx2"}),
              ElementsAre(StartsWith("\"avx2\" is not a feature that fatctx looks for on x86-64 (amx, ")));
  EXPECT_EQ(unknown("cpu", "x86-64-v4", {"sve", "dotprod"}).size(), 2u);
}

}  // namespace target_words_test
}  // namespace fatctx
