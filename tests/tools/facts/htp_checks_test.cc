#include "tools/facts/htp_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/result_matchers.h"

namespace fatctx::tools {
namespace htp_checks_test {

using support::fails_with;
using support::is_ok;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

PackRecord binary(const std::string& name, const std::string& backend, const std::string& arch) {
  PackRecord record;
  record.type = RecordType::kContextBinary;
  record.name = name;
  record.key.group = "g";
  record.key.backend = backend;
  record.key.arch = arch;
  return record;
}

PackRecord described(PackRecord record, std::vector<std::int64_t> in, std::vector<std::int64_t> out) {
  DescribedGraph graph{.name = "main", .inputs = {{"x", "float32", {3}}}, .outputs = {}};
  graph.inputs.push_back({"y", "float32", std::move(in)});
  graph.outputs.push_back({"z", "float32", std::move(out)});
  record.description.graphs.push_back(std::move(graph));
  return record;
}

PackRecord saying(PackRecord record, const std::string& key, const std::string& value) {
  record.description.options.push_back({key, value, "quant"});
  return record;
}

// Shows S3.31.
TEST(FixedShapes, AreAskedOfBinariesForHexagonAlone) {
  const auto open_input = check_fixed_shapes(described(binary("a", "htp", "v75"), {-1, 3}, {3}));
  ASSERT_TRUE(fails_with(open_input, ErrorCode::kInvalidArgument));
  EXPECT_THAT(open_input.error().message, AllOf(HasSubstr("graph \"main\": \"y\""), HasSubstr("--allow-dynamic")));
  const auto open_output = check_fixed_shapes(described(binary("a", "htp", "v75"), {3}, {3, -1}));
  ASSERT_TRUE(fails_with(open_output, ErrorCode::kInvalidArgument));
  EXPECT_THAT(open_output.error().message, HasSubstr("\"z\""));

  EXPECT_TRUE(is_ok(check_fixed_shapes(described(binary("a", "htp", "v75"), {1, 3}, {}))));
  EXPECT_TRUE(is_ok(check_fixed_shapes(described(binary("a", "cpu", "aarch64"), {-1, 3}, {-1}))));
  PackRecord stated = described(binary("a", "htp", "v75"), {-1}, {-1});
  stated.description.graphs[0].options = {{"opDataSize", "7", "qnn"}};
  EXPECT_TRUE(is_ok(check_fixed_shapes(stated)));  // the compiler itself says so
  PackRecord source = described(binary("a", "htp", "v75"), {-1}, {-1});
  source.type = RecordType::kSourceModel;
  EXPECT_TRUE(is_ok(check_fixed_shapes(source)));
}

// Shows S3.30.
TEST(QuantNotes, NameTheBinariesForHexagonOfWhichNothingIsSaid) {
  const std::vector<PackRecord> records = {binary("a", "htp", "v75"),
                                           saying(binary("b", "htp", "v75"), "weight_type", "uint8"),
                                           binary("c", "cpu", "x86-64-v3"), binary("d", "htp", "v73"),
                                           saying(binary("e", "htp", "v73"), "common_arch", "v73")};
  EXPECT_THAT(quant_notes(records, {}),
              ElementsAre(AllOf(HasSubstr("3 binaries"), HasSubstr("\"a\", \"d\", \"e\""), Not(HasSubstr("\"c\"")))));
  EXPECT_THAT(quant_notes(records, {{"activation_type", "uint16", "quant"}}), IsEmpty());
  EXPECT_THAT(quant_notes(records, {{"activation_type", "uint16", "another"}}), Not(IsEmpty()));
}

TEST(QuantNotes, AScaleOfAnInputOrOutputSaysIt) {
  PackRecord in = described(binary("a", "htp", "v75"), {3}, {3});
  in.description.graphs[0].inputs[0].scales = {{0.5, -3}};
  PackRecord out = described(binary("b", "htp", "v75"), {3}, {3});
  out.description.graphs[0].outputs[0].scales = {{0.5, -3}};
  EXPECT_THAT(quant_notes({in, out}, {}), IsEmpty());
  out.description.graphs[0].outputs[0].scales = {};
  EXPECT_THAT(quant_notes({in, out}, {}), ElementsAre(HasSubstr("a binary for htp was quantised: \"b\"")));
}

TEST(QuantNotes, CountTheBinariesBehindTheThird) {
  std::vector<PackRecord> records;
  for (const char* name : {"a", "b", "c", "d", "e"}) records.push_back(binary(name, "htp", "v75"));
  EXPECT_THAT(quant_notes(records, {}), ElementsAre(HasSubstr("\"a\", \"b\", \"c\" and 2 more")));
}

// Shows S4.10.
TEST(QuantNotes, ACommonArchAboveTheLowestTargetIsRemarked) {
  const std::vector<DescribedOption> said = {{"weight_type", "uint8", "quant"}};
  const std::vector<PackRecord> records = {saying(binary("high", "htp", "v79"), "common_arch", "v75"),
                                           binary("low", "htp", "v73")};
  EXPECT_THAT(quant_notes(records, said),
              ElementsAre(AllOf(HasSubstr("quantised for v75 as the common architecture: \"high\";"),
                                HasSubstr("\"low\" of the same group is for v73"))));

  EXPECT_THAT(
      quant_notes({saying(binary("high", "htp", "v79"), "common_arch", "v73"), binary("low", "htp", "v73")}, said),
      IsEmpty());
  std::vector<PackRecord> apart = records;
  apart[1].key.group = "another";
  EXPECT_THAT(quant_notes(apart, said), IsEmpty());
  // 100 is above 75, although the text sorts lower.
  EXPECT_THAT(quant_notes({saying(binary("high", "htp", "v100"), "common_arch", "v79")}, said), IsEmpty());
}

TEST(QuantNotes, ACommonArchOfTheWholeFileCountsForEveryBinary) {
  const std::vector<DescribedOption> said = {{"weight_type", "uint8", "quant"}, {"common_arch", "v79", "quant"}};
  EXPECT_THAT(quant_notes({binary("a", "htp", "v79"), binary("b", "htp", "v75")}, said),
              ElementsAre(HasSubstr("\"a\", \"b\"; \"b\" of the same group is for v75")));
}

}  // namespace htp_checks_test
}  // namespace fatctx::tools
