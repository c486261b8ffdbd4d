// docs/selection.md shows what the code does: its example, its axes, its warnings and its device description.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "fatctx/select.h"

namespace fatctx {
namespace {

using ::testing::HasSubstr;

std::string read_document() {
  std::ifstream stream(FATCTX_SOURCE_DIR "/docs/selection.md");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(SelectionDocument, ItsFirstExampleIsWhatExplainPrints) {
  constexpr RecordType kBinary = RecordType::kContextBinary;
  std::vector<Candidate> candidates;
  const std::vector<std::pair<std::string_view, std::string_view>> records = {
      {"minilm-arm", "aarch64"}, {"minilm-v2", "x86-64-v2"}, {"minilm-v3", "x86-64-v3"}, {"minilm-v4", "x86-64-v4"}};
  for (const auto& [name, arch] : records) {
    const auto id = static_cast<std::uint32_t>(candidates.size() + 1);
    candidates.push_back(
        {.record_id = id, .name = name, .key = {.type = kBinary, .group = "minilm", .backend = "cpu", .arch = arch}});
  }
  const Device device = device_from_text("x86-64-v3").value();

  const std::string text = explain_text(select(candidates, device).value(), candidates, device);

  EXPECT_THAT(read_document(), HasSubstr("```\n" + text + "```\n"));
}

TEST(SelectionDocument, HasARowForEveryAxis) {
  const std::string document = read_document();
  for (int axis = 1; axis <= static_cast<int>(Axis::kOutranked); ++axis) {
    const auto id = axis_id(static_cast<Axis>(axis));
    EXPECT_THAT(document, HasSubstr(fmt::format("\n| {} | ", id)));
  }
}

TEST(SelectionDocument, HasARowForEveryWarningAndLevel) {
  const std::string document = read_document();
  for (const char* row : {"generic_record", "vtcm_unverified", "override_forced", "mixed_targets", "damaged_choice",
                          "source_model", "OPTIMAL", "PREFER_RECOMPILATION", "FALLBACK", "UNSUPPORTED"}) {
    EXPECT_THAT(document, HasSubstr(fmt::format("\n| {} | ", row)));
  }
}

TEST(SelectionDocument, ItsDeviceDescriptionIsReadAndWrittenTheSame) {
  const std::string document = read_document();
  const std::string fence = "```json\n";
  const auto start = document.find(fence);
  ASSERT_NE(start, std::string::npos);
  const auto end = document.find("\n```", start);
  const std::string json = document.substr(start + fence.size(), end - start - fence.size());

  const auto device = device_from_json(json);

  ASSERT_TRUE(device.ok()) << device.error().message;
  EXPECT_EQ(device.value().part, "SM8650");
  EXPECT_EQ(device_to_json(device_from_json(device_to_json(device.value())).value()), device_to_json(device.value()));
}

}  // namespace
}  // namespace fatctx
