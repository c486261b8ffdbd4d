// The vendor's configuration files, read unchanged. Mistakes that the vendor's tool ignores silently are refused.
#include "tools/facts/htp_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/temp_dir.h"

namespace fatctx::tools {
namespace htp_config_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// The two files and the main file on the vendor's page.
constexpr const char* kMain = R"({
  "backend_extensions": {
    "shared_library_path": "lib/x86_64-linux-clang/libQnnHtpNetRunExtensions.so",
    "per_soc_config_file_path": ["soc1.json", "soc2.json"]
  }
})";
constexpr const char* kFirst = R"({
  "graphs": [{"graph_names": ["qnn_model"]}],
  "devices": [{"dsp_arch": "v79", "soc_id": 69}],
  "context": {"reference_weight_sharing_enabled": true}
})";
constexpr const char* kSecond = R"({
  "graphs": [{"graph_names": ["qnn_model"], "vtcm_mb": 8, "O": 3}],
  "devices": [{"dsp_arch": "v81", "soc_id": 87}],
  "context": {"reference_weight_sharing_enabled": true}
})";

class HtpConfigFile : public ::testing::Test {
 protected:
  HtpConfigFile() {
    write("main.json", kMain);
    write("soc1.json", kFirst);
    write("soc2.json", kSecond);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.file(name)) << text; }
  Result<HtpConfig> read() const { return read_htp_config(folder_.file("main.json"), SocTable::built_in()); }
  std::string refusal() const {
    const auto config = read();
    EXPECT_FALSE(config.ok());
    return config.ok() ? std::string() : config.error().message;
  }
  // Returns the error for a first file in which `text` replaces `old`.
  std::string refused_with(const std::string& old, const std::string& text) const {
    std::string changed = kFirst;
    const auto at = changed.find(old);
    EXPECT_NE(at, std::string::npos);
    write("soc1.json", changed.replace(at, old.size(), text));
    return refusal();
  }

  support::TempDir folder_;
};

TEST_F(HtpConfigFile, TheExampleOfTheVendorIsReadUnchangedAndInItsOrder) {
  const HtpConfig config = read().value();

  EXPECT_EQ(config.extension_library, "lib/x86_64-linux-clang/libQnnHtpNetRunExtensions.so");
  ASSERT_THAT(config.targets, SizeIs(2));
  const HtpTarget& first = config.targets[0];
  EXPECT_EQ(target_name(first), "SM8750 (soc 69, v79)");
  EXPECT_TRUE(first.share_weights);
  EXPECT_THAT(first.graph_names, ElementsAre("qnn_model"));
  const HtpTarget& second = config.targets[1];
  EXPECT_EQ(target_name(second), "SM8850 (soc 87, v81, 8 MB)");
  ASSERT_THAT(second.settings, SizeIs(1));
  EXPECT_EQ(second.settings[0].key, "graphs.O");
  EXPECT_EQ(second.settings[0].value, "3");
}

TEST_F(HtpConfigFile, SharingIsOffUnlessAskedForAndAnOverrideWins) {
  write("soc1.json", R"({"devices": [{"soc_id": 69}]})");
  HtpConfig config = read().value();
  EXPECT_FALSE(config.targets[0].share_weights);
  EXPECT_TRUE(config.targets[1].share_weights);
  EXPECT_EQ(config.targets[0].arch, "v79") << "the table says it";

  ASSERT_TRUE(override_sharing(config, false).ok());
  EXPECT_FALSE(config.targets[1].share_weights);
}

TEST_F(HtpConfigFile, WhatIsNotUnderstoodIsRefusedWithItsPlace) {
  EXPECT_THAT(refused_with("\"context\"", "\"contexts\""), HasSubstr("soc1.json"));
  EXPECT_THAT(refused_with("graph_names", "graph_name"), HasSubstr("/graphs/0"));
  EXPECT_THAT(refused_with("\"v79\"", "\"v81\""),
              HasSubstr("/devices/0/dsp_arch: found v81, and SoC 69 (SM8750) has v79"));
  EXPECT_THAT(refused_with("\"v79\"", "\"sm79\""), HasSubstr("a Hexagon arch"));
  EXPECT_THAT(refused_with("69", "9999"), HasSubstr("9999"));
  EXPECT_THAT(refused_with("69", "639"), HasSubstr("kernel:639"));
  EXPECT_THAT(refused_with("true", "\"yes\""), HasSubstr("/context/reference_weight_sharing_enabled"));
  EXPECT_THAT(refused_with("true", "true, \"lora_weight_sharing_enabled\": true"), HasSubstr("exclude each other"));
  EXPECT_THAT(refused_with("[{\"dsp_arch\": \"v79\", \"soc_id\": 69}]", "[]"), HasSubstr("found 0 devices"));
}

TEST_F(HtpConfigFile, TheMainFileNamesFilesThatAreThere) {
  write("main.json", R"({"backend_extensions": {"per_soc_config_file_path": ["none.json"]}})");
  EXPECT_THAT(refusal(), HasSubstr("none.json"));
  write("main.json", R"({"backend_extensions": {"per_soc_config_file_path": []}})");
  EXPECT_THAT(refusal(), HasSubstr("the list is empty"));
  write("main.json", R"({"backend_extensions": {}})");
  EXPECT_THAT(refusal(), HasSubstr("names no file of a SoC"));
  write("main.json", R"({"backend_extensions": {"config_file_path": "soc1.json"}})");
  EXPECT_THAT(read().value().targets, SizeIs(1));
  write("main.json", R"({"backend_extensions": {"per_soc_config_file_path": ["soc1.json", "soc1.json"]}})");
  EXPECT_THAT(refusal(), HasSubstr("SM8750 (soc 69, v79) appears twice"));
}

TEST(HtpConfigList, TakesEverySpellingAndRefusesWhatIsNone) {
  const SocTable table = SocTable::built_in();
  const HtpConfig config = htp_config_of_list("SM8650, 69,kernel:660", {}, table).value();

  ASSERT_THAT(config.targets, SizeIs(3));
  EXPECT_EQ(target_name(config.targets[0]), "SM8650 (soc 57, v75)");
  EXPECT_EQ(target_name(config.targets[1]), "SM8750 (soc 69, v79)");
  EXPECT_EQ(config.targets[2].part, "SM8850");
  EXPECT_THAT(htp_config_of_list("QCS8551", {}, table).error().message, HasSubstr("did you mean QCS8550"));
  EXPECT_THAT(htp_config_of_list("x86-64-v3", {}, table).error().message, HasSubstr("no QNN number of an HTP"));
  EXPECT_THAT(htp_config_of_list("69,SM8750", {}, table).error().message, HasSubstr("appears twice"));
  EXPECT_THAT(htp_config_of_list(" ,", {}, table).error().message, HasSubstr("the list is empty"));
}

TEST(HtpConfigNames, OfGraphsThatTheModelLacksAreRefused) {
  HtpConfig config;
  HtpTarget target;
  target.file = "soc1.json";
  target.graph_names = {"qnn_model"};
  config.targets.push_back(std::move(target));

  EXPECT_TRUE(check_graph_names(config, {"qnn_model", "other"}).ok());
  const Status refused = check_graph_names(config, {"main"});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("no graph of the model is named \"qnn_model\"; it has \"main\""));
}

TEST(HtpConfigList, GivesVtcmToAllOrToEach) {
  const SocTable table = SocTable::built_in();
  EXPECT_EQ(htp_config_of_list("43,57", {8}, table).value().targets[1].vtcm_mb, 8U);
  const HtpConfig variants = htp_config_of_list("57,57", {4, 8}, table).value();
  EXPECT_EQ(target_word(variants.targets[0]), "SM8650.4mb");
  EXPECT_EQ(target_word(variants.targets[1]), "SM8650.8mb");
  EXPECT_THAT(htp_config_of_list("57,57", {8}, table).error().message, HasSubstr("appears twice"));
  EXPECT_THAT(htp_config_of_list("43,57,69", {4, 8}, table).error().message, HasSubstr("2 numbers for 3 targets"));
}

std::vector<std::string> warnings_of(
    const std::string& list, SharingForm form, void (*change)(HtpConfig&) = [](HtpConfig&) {}) {
  HtpConfig config = htp_config_of_list(list, {}, SocTable::built_in()).value();
  EXPECT_TRUE(override_sharing(config, true).ok());
  change(config);
  return sharing_warnings(config, SocTable::built_in(), form);
}

TEST(HtpConfigWarnings, InOnePassTheOrderOfTheGenerationsDecidesWhatIsShared) {
  EXPECT_THAT(warnings_of("43,57,69,87", SharingForm::kOnePass), IsEmpty());
  EXPECT_THAT(warnings_of("36,43,57,69,87", SharingForm::kOnePass),
              ElementsAre(AllOf(HasSubstr("SM8450 (soc 36, v69), which comes first"), HasSubstr("put SM8550"))));
  EXPECT_THAT(warnings_of("43,57,36", SharingForm::kOnePass), ElementsAre(HasSubstr("the best order")));
  EXPECT_THAT(warnings_of("36,43,57", SharingForm::kContainer),
              ElementsAre(AllOf(HasSubstr("share no weights with each other"), Not(HasSubstr("first")))));
}

TEST(HtpConfigWarnings, TellWhatWouldCostBytesWithoutAWord) {
  const auto warnings = [](void (*change)(HtpConfig&)) {
    return warnings_of("43,57", SharingForm::kContainer, change);
  };
  EXPECT_THAT(warnings([](HtpConfig& c) { c.targets[1].dlbc = true; }), ElementsAre(HasSubstr("dlbc")));
  EXPECT_THAT(warnings([](HtpConfig& c) { c.targets[1].wide_udma = true; }), ElementsAre(HasSubstr("udma")));
  EXPECT_THAT(warnings([](HtpConfig& c) { c.targets[1].cores = 2; }), ElementsAre(HasSubstr("several cores")));
  EXPECT_THAT(warnings([](HtpConfig& c) { c.targets[1].graph_names = {"other"}; }),
              ElementsAre(HasSubstr("same graphs")));
  EXPECT_THAT(warnings([](HtpConfig& c) { c.targets[1].share_weights = false; }),
              ElementsAre(HasSubstr("nobody with it")));
}

TEST(HtpConfigOverride, IsRefusedWhereLoraWeightsAreShared) {
  HtpConfig config = htp_config_of_list("43,57", {}, SocTable::built_in()).value();
  config.targets[1].lora_sharing = true;
  const Status refused = override_sharing(config, true);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("lora_weight_sharing_enabled"));
  EXPECT_TRUE(override_sharing(config, false).ok());
}

}  // namespace htp_config_test
}  // namespace fatctx::tools
