#include "tools/facts/quant_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/result_matchers.h"
#include "support/temp_dir.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace quant_facts_test {

using support::fails_with;
using support::is_ok;
using support::TempDir;
using ::testing::HasSubstr;

constexpr std::string_view kDigest = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

Result<QuantFacts> parse(const std::string& text) {
  const std::string file = "m.json";
  FATCTX_ASSIGN(const Json document, parse_json(text, file));
  return quant_at(JsonPlace(file, document), "folder");
}

// Shows S3.34, S3.36.
TEST(QuantFacts, EverythingThatIsSaidIsAFactInOneOrder) {
  const auto facts =
      parse(R"({"overrides": "o.json", "calibration_sha256": ")" + std::string(kDigest) +
            R"(", "common_arch": "v73", "weight_type": ["uint8", "int4"], "activation_type": "uint16"})");

  ASSERT_TRUE(is_ok(facts));
  ASSERT_EQ(facts.value().options.size(), 4U);
  for (const DescribedOption& option : facts.value().options) EXPECT_EQ(option.owner, "quant");
  EXPECT_EQ(facts.value().options[0].key, "activation_type");
  EXPECT_EQ(facts.value().options[0].value, "uint16");
  EXPECT_EQ(facts.value().options[1].key, "weight_type");
  EXPECT_EQ(facts.value().options[1].value, "uint8,int4");
  EXPECT_EQ(facts.value().options[2].value, "v73");
  EXPECT_EQ(facts.value().options[3].value, kDigest);
  EXPECT_EQ(std::filesystem::path(facts.value().overrides_from), "folder/o.json");
}

TEST(QuantFacts, MistakesAreNamedWithTheirPlace) {
  struct Mistake {
    const char* text;
    const char* said;
  };
  const Mistake mistakes[] = {
      {R"({})", "m.json: the whole file: says nothing"},
      {R"({"activation": "uint8"})", "m.json: /activation: unknown key"},
      {R"({"activation_type": "u8"})", "m.json: /activation_type: found \"u8\""},
      {R"({"weight_type": []})", "m.json: /weight_type: is empty"},
      {R"({"weight_type": ["uint8", 4]})", "m.json: /weight_type/1: found 4"},
      {R"({"common_arch": "75"})", "m.json: /common_arch: found \"75\"; allowed: a Hexagon architecture"},
      {R"({"common_arch": "v"})", "m.json: /common_arch: "},
      {R"({"calibration_sha256": "00"})", "m.json: /calibration_sha256: "},
      {R"({"overrides": 7})", "m.json: /overrides: found 7"},
      {R"({"overrides": ""})", "m.json: /overrides: "},
      {R"({"io": 7})", "m.json: /io: found 7"},
      {R"({"io": {}})", "m.json: /io: says nothing"},
      {R"({"io": {"g": {"x": {"zero_point": 1}}}})", "m.json: /io/g/x: "},
      {R"({"io": {"g": {"x": {"scale": 0}}}})", "m.json: /io/g/x/scale: found 0; allowed: a number above 0"},
      {R"({"io": {"g": {"x": {"scale": 1, "zero_point": 65536}}}})", "m.json: /io/g/x/zero_point: found 65536"},
      {R"({"io": {"g": {"x": {"scale": 1, "offset": 1}}}})", "m.json: /io/g/x/offset: unknown key"},
  };
  for (const Mistake& mistake : mistakes) {
    const auto facts = parse(mistake.text);
    ASSERT_TRUE(fails_with(facts, ErrorCode::kInvalidArgument)) << mistake.text;
    EXPECT_THAT(facts.error().message, HasSubstr(mistake.said)) << mistake.text;
  }
}

TEST(QuantFacts, AFlagSaysTheSameInWords) {
  const auto facts = parse_quant_flag("activation_type=uint8+uint16,weight_type=int4,overrides=sub/o.json");
  ASSERT_TRUE(is_ok(facts));
  EXPECT_EQ(facts.value().options[0].value, "uint8,uint16");
  EXPECT_EQ(facts.value().options[1].value, "int4");
  EXPECT_EQ(facts.value().overrides_from, "sub/o.json");
  for (const char* bad : {"activation_type", "activation_type=", "activation_type=u8", "weight_type=uint8+",
                          "weight_type=uint8,weight_type=int8", "type=uint8", ","}) {
    const auto refused = parse_quant_flag(bad);
    ASSERT_TRUE(fails_with(refused, ErrorCode::kInvalidArgument)) << bad;
    EXPECT_THAT(refused.error().message, HasSubstr("--quant ")) << bad;
  }
}

// Shows S3.41, S3.43, S3.44.
TEST(QuantFacts, OverridesOfAFileAreKeptWordForWord) {
  const TempDir folder;
  const std::string text =
      "{ \"Op4_out\" : [ {\"quant_type\":\"QUInt16\"} ],\n  \"Op2_out\": [{\"quant_type\": \"QUInt8\", \"convert\":\n"
      "    {\"quant_type\": \"QUInt16\", \"recv_nodes\": [\"Op4\"]}}] }\n\n";
  support::write_text(folder.file("o.json"), text);
  std::vector<DescribedOption> options;

  ASSERT_TRUE(is_ok(add_quant_facts({.options = {}, .overrides_from = folder.file("o.json")}, options)));

  ASSERT_NE(quant_fact(options, "overrides"), nullptr);
  EXPECT_EQ(*quant_fact(options, "overrides"), text);
}

TEST(QuantFacts, OverridesThatAreNoJsonAreRefused) {
  const TempDir folder;
  std::vector<DescribedOption> options;
  for (const char* text : {"{", "7", "\"text\"", "{} // remark"}) {
    support::write_text(folder.file("o.json"), text);
    EXPECT_TRUE(fails_with(add_quant_facts({.options = {}, .overrides_from = folder.file("o.json")}, options),
                           ErrorCode::kInvalidArgument))
        << text;
  }
  EXPECT_TRUE(fails_with(add_quant_facts({.options = {}, .overrides_from = folder.file("gone.json")}, options),
                         ErrorCode::kNotFound));
}

TEST(QuantFacts, AFactIsSaidOnce) {
  std::vector<DescribedOption> options = {{"weight_type", "int8", "quant"}};
  const auto again = add_quant_facts({.options = {{"weight_type", "uint8", "quant"}}, .overrides_from = {}}, options);
  EXPECT_TRUE(fails_with(again, ErrorCode::kInvalidArgument));
  EXPECT_EQ(*quant_fact(options, "weight_type"), "int8");
}

TEST(QuantFacts, AModelFillsInWhatIsNotSaid) {
  OnnxModel model;
  model.activation_types = {"uint16", "uint8"};
  model.weight_types = {"int4"};
  std::vector<DescribedOption> options = {{"weight_type", "int8", "quant"}, {"activation_type", "float", "another"}};

  add_quant_facts_of(model, options);

  ASSERT_EQ(options.size(), 3U);
  EXPECT_EQ(*quant_fact(options, "activation_type"), "uint16,uint8");
  EXPECT_EQ(*quant_fact(options, "weight_type"), "int8");
}

}  // namespace quant_facts_test
}  // namespace fatctx::tools
