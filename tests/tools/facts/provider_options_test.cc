#include "tools/facts/provider_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "source_dir.h"
#include "support/result_matchers.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {
namespace provider_options_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char* const kOwner = "QNNExecutionProvider";

std::optional<std::string> wrong(const std::string& key, const std::string& value, const std::string& owner = kOwner) {
  return wrong_provider_option({key, value, owner});
}

// Shows S3.13, S3.16, S3.17, S3.18, S3.20, S3.22, S3.23, S3.25, S3.26.
TEST(ProviderOptions, ValuesOfClosedSetsAreTakenAndNoOthers) {
  struct Row {
    const char* key;
    std::vector<const char*> good;
    std::vector<const char*> bad;
  };
  const Row rows[] = {
      {"backend_type", {"cpu", "htp"}, {"HTP", "gpu", ""}},
      {"profiling_level", {"off", "basic", "detailed"}, {"on", "2"}},
      {"htp_performance_mode",
       {"burst", "balanced", "default", "high_performance", "high_power_saver", "low_balanced", "low_power_saver",
        "power_saver", "sustained_high_performance"},
       {"fast", "Burst", "burst "}},
      {"qnn_context_priority", {"low", "normal", "normal_high", "high"}, {"highest", "0"}},
      {"htp_graph_finalization_optimization_mode", {"0", "1", "2", "3"}, {"4", "-1", "03", ""}},
      {"htp_arch", {"0", "68", "69", "73", "75", "79", "81", "85", "75,79"}, {"v75", "70", "75,", ",75", "75;79"}},
      {"enable_htp_fp16_precision", {"0", "1"}, {"2", "true"}},
      {"offload_graph_io_quantization", {"0", "1"}, {"yes", ""}},
      {"enable_htp_shared_memory_allocator", {"0", "1"}, {"on"}},
      {"rpc_control_latency", {"0", "100", "4294967295"}, {"-1", "100us", "4294967296", ""}},
      {"device_id", {"0", "1"}, {"first"}},
      {"vtcm_mb", {"0", "8", "8,4"}, {"8MB", "8,", "-8"}},
      {"soc_model", {"0", "57", "SM8650", "57,69"}, {""}},
      {"backend_path", {"libQnnHtp.so"}, {""}},
  };
  for (const Row& row : rows) {
    for (const char* value : row.good) EXPECT_FALSE(wrong(row.key, value).has_value()) << row.key << " " << value;
    for (const char* value : row.bad) EXPECT_TRUE(wrong(row.key, value).has_value()) << row.key << " " << value;
  }
}

TEST(ProviderOptions, AWrongValueIsToldWithWhatIsAllowed) {
  EXPECT_EQ(wrong("qnn_context_priority", "urgent"),
            "found \"urgent\"; allowed: \"low\", \"normal\", \"normal_high\", \"high\"");
  EXPECT_EQ(wrong("rpc_control_latency", "soon"), "found \"soon\"; allowed: a whole number from 0 to 4294967295");
}

TEST(ProviderOptions, OtherOwnersMaySayWhatTheyLike) {
  EXPECT_FALSE(wrong("htp_performance_mode", "fast", "another").has_value());
  EXPECT_FALSE(wrong("htp_performance_mode", "fast", "").has_value());
  EXPECT_TRUE(wrong("htp_performance_mode", "fast", "QNN").has_value());
}

TEST(ProviderOptions, TypeAndPathOfTheBackendExcludeEachOther) {
  const std::vector<DescribedOption> type = {{"backend_type", "htp", kOwner}};
  const std::vector<DescribedOption> both = {{"backend_type", "htp", kOwner}, {"backend_path", "a.so", kOwner}};
  const std::vector<DescribedOption> apart = {{"backend_type", "htp", kOwner}, {"backend_path", "a.so", "another"}};
  EXPECT_TRUE(check_provider_options(type).ok());
  EXPECT_TRUE(check_provider_options(apart).ok());
  const auto refused = check_provider_options(both);
  ASSERT_TRUE(support::fails_with(refused, ErrorCode::kInvalidArgument));
  EXPECT_THAT(refused.error().message, HasSubstr("mutually exclusive"));
}

// Shows S3.12.
TEST(ProviderOptions, TheCpuBackendIsKnownByItsTypeAndItsLibrary) {
  const auto cpu = [](const char* key, const char* value, const char* owner = kOwner) {
    return asks_for_cpu_backend({{"device_id", "0", kOwner}, {key, value, owner}});
  };
  EXPECT_TRUE(cpu("backend_type", "cpu"));
  EXPECT_TRUE(cpu("backend_path", "libQnnCpu.so"));
  EXPECT_TRUE(cpu("backend_path", "QnnCpu.dll"));
  EXPECT_TRUE(cpu("backend_path", "/opt/qnn/lib/libQnnCpu.so"));
  EXPECT_TRUE(cpu("backend_path", "C:\\qnn\\QnnCpu.dll"));
  EXPECT_FALSE(cpu("backend_type", "htp"));
  EXPECT_FALSE(cpu("backend_path", "libQnnHtp.so"));
  EXPECT_FALSE(cpu("backend_path", "QnnHtp.dll"));
  EXPECT_FALSE(cpu("backend_path", "libQnnCpu.so/libQnnHtp.so"));
  EXPECT_FALSE(cpu("backend_type", "cpu", "another"));
}

TEST(ProviderOptions, KeysThatAreNotKnownAreRemarkedWithTheNearest) {
  const std::vector<DescribedOption> options = {
      {"htp_performence_mode", "burst", kOwner}, {"htp_arch", "75", kOwner}, {"whatever", "1", "another"}};
  EXPECT_THAT(unknown_provider_options(options), ElementsAre(HasSubstr("did you mean \"htp_performance_mode\"?")));
}

// Shows S3.21.
TEST(ProviderOptions, TheFinalisationModeIsAnOptimisationLevel) {
  const auto text = [](const char* value) {
    return optimization_level_text({{"htp_graph_finalization_optimization_mode", value, kOwner}});
  };
  EXPECT_EQ(text("0"), "0, the default");
  EXPECT_EQ(text("1"), "1, the fastest preparation");
  EXPECT_EQ(text("2"), "2, a longer preparation");
  EXPECT_EQ(text("3"), "3, the longest preparation");
  EXPECT_EQ(text("9"), "9");  // of a foreign file
  EXPECT_EQ(optimization_level_text({{"htp_arch", "75", kOwner}}), "");
}

TEST(ProviderOptions, ThePageHasEachOfThem) {
  const auto page = read_text_file(FATCTX_SOURCE_DIR "/docs/snapdragon.md");
  ASSERT_TRUE(support::is_ok(page));
  const std::string& text = page.value();
  const std::size_t start = text.find("## Options of the provider");
  const std::string section = text.substr(start, text.find("\n## ", start + 1) - start);
  ASSERT_GE(provider_option_keys().size(), 24U);
  for (const std::string& key : provider_option_keys()) EXPECT_THAT(section, HasSubstr("`" + key + "`"));
}

}  // namespace provider_options_test
}  // namespace fatctx::tools
