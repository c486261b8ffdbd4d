#include "tools/facts/qnn_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <string>

#include "support/result_matchers.h"
#include "support/temp_dir.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace qnn_json_test {

using nlohmann::json;
using support::fails_with;
using support::is_ok;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns JSON as qnn-context-binary-utility writes it, with keys that are not used here.
json of_utility() {
  const auto tensor = [](const char* name, const char* type, json shape, json quantisation) {
    return json{{"info",
                 {{"id", 9},
                  {"name", name},
                  {"dataType", type},
                  {"dimensions", shape},
                  {"rank", 2},
                  {"quantizeParams", quantisation}}},
                {"version", "V1"}};
  };
  const json undefined = {{"definition", "QNN_DEFINITION_UNDEFINED"},
                          {"quantizationEncoding", "QNN_QUANTIZATION_ENCODING_UNDEFINED"}};
  const json scaled = {{"definition", "QNN_DEFINITION_DEFINED"},
                       {"quantizationEncoding", "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET"},
                       {"scaleOffset", {{"offset", -125}, {"scale", 0.5}}}};
  const json graph = {{"info",
                       {{"graphName", "prefill"},
                        {"graphInputs",
                         {tensor("x", "QNN_DATATYPE_UFIXED_POINT_8", {1, 3}, scaled),
                          tensor("mask", "QNN_DATATYPE_FLOAT_16", {1, 128}, undefined)}},
                        {"graphOutputs", {tensor("y", "QNN_DATATYPE_SFIXED_POINT_16", {1, 4}, scaled)}}}},
                      {"version", 1}};
  return {{"info", {{"backendId", 6}, {"buildId", "v2.51.0.1"}, {"graphs", {graph}}, {"numGraphs", 1}}},
          {"version", 3}};
}

// Returns JSON as converters write it: 1032 is UFIXED_POINT_8, 562 FLOAT_32; type 4 is a weight.
json of_converter() {
  return json::parse(R"({
    "model.cpp": "m.cpp", "graph": {"tensors": {
      "a_second": {"id": 7, "type": 0, "data_type": 562, "dims": [1, 3, 224, 224], "quant_params": {"definition": 2147483647}},
      "z_first": {"id": 2, "type": 0, "data_type": 1032, "dims": [1],
                  "quant_params": {"definition": 1, "encoding": 0, "scale_offset": {"bitwidth": 8, "scale": 0.25, "offset": 0}}},
      "weight": {"id": 3, "type": 4, "data_type": 999999, "dims": "what nobody reads"},
      "out": {"id": 9, "type": 1, "data_type": 50, "dims": []}}, "nodes": {}}})");
}

Result<QnnJson> parsed(const json& document) { return parse_qnn_json(document.dump(), "net.json"); }

// Shows S3.67.
TEST(QnnJson, TheUtilitysGraphsHaveNamesTypesShapesAndScales) {
  const auto found = parsed(of_utility());

  ASSERT_TRUE(is_ok(found));
  EXPECT_EQ(found.value().build_id, "v2.51.0.1");
  ASSERT_EQ(found.value().graphs.size(), 1U);
  const WrappedGraph& graph = found.value().graphs[0];
  EXPECT_EQ(graph.name, "prefill");
  EXPECT_THAT(graph.inputs, ElementsAre(WrappedTensor{"x", DType::kU8, {1, 3}, TensorQuantisation{0.5, 125, ""}},
                                        WrappedTensor{"mask", DType::kF16, {1, 128}, std::nullopt}));
  EXPECT_THAT(graph.outputs, ElementsAre(WrappedTensor{"y", DType::kI16, {1, 4}, TensorQuantisation{0.5, 125, ""}}));
  EXPECT_THAT(found.value().notes, ElementsAre());
}

// Shows S3.67.
TEST(QnnJson, AConvertersTensorsComeInTheOrderOfTheGraph) {
  const auto found = parsed(of_converter());

  ASSERT_TRUE(is_ok(found));
  ASSERT_EQ(found.value().graphs.size(), 1U);
  const WrappedGraph& graph = found.value().graphs[0];
  EXPECT_EQ(graph.name, "");
  EXPECT_THAT(graph.inputs, ElementsAre(WrappedTensor{"z_first", DType::kU8, {1}, TensorQuantisation{0.25, 0, ""}},
                                        WrappedTensor{"a_second", DType::kF32, {1, 3, 224, 224}, std::nullopt}));
  EXPECT_THAT(graph.outputs, ElementsAre(WrappedTensor{"out", DType::kI32, {}, std::nullopt}));
}

TEST(QnnJson, FixedPointWithoutAScaleForTheWholeTensorIsTold) {
  json document = of_utility();
  document["info"]["graphs"][0]["info"]["graphInputs"][0]["info"]["quantizeParams"]["quantizationEncoding"] =
      "QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET";

  const auto found = parsed(document);

  ASSERT_TRUE(is_ok(found));
  EXPECT_FALSE(found.value().graphs[0].inputs[0].quantisation);
  EXPECT_THAT(
      found.value().notes,
      ElementsAre("graph \"prefill\": tensor \"x\" is uint8 in fixed point without a scale for the whole tensor; "
                  "it stays as it is"));
}

TEST(QnnJson, AScaleForEachIndexOfAnAxisIsKept) {
  json document = of_utility();
  json& x = document["info"]["graphs"][0]["info"]["graphInputs"][0]["info"];
  x["quantizeParams"] = {
      {"definition", "QNN_DEFINITION_DEFINED"},
      {"quantizationEncoding", "QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET"},
      {"axisScaleOffset",
       {{"axis", 1},
        {"numScaleOffsets", 3},
        {"scaleOffsets",
         {{{"scale", 0.5}, {"offset", 0}}, {{"scale", 0.25}, {"offset", -1}}, {{"scale", 0.125}, {"offset", -2}}}}}}};
  document["info"]["graphs"][0]["info"]["graphBlobInfo"] = {{"info", {{"spillFillBufferSize", 9}, {"htpDlbc", 1}}}};

  const auto found = parsed(document);

  ASSERT_TRUE(is_ok(found));
  const DescribedGraph& graph = found.value().described.at(0);
  EXPECT_THAT(graph.inputs[0].scales,
              ElementsAre(DescribedScale{0.5, 0}, DescribedScale{0.25, -1}, DescribedScale{0.125, -2}));
  EXPECT_EQ(graph.inputs[0].axis, 1U);
  EXPECT_FALSE(found.value().graphs[0].inputs[0].quantisation);
  EXPECT_EQ(graph.spill_fill_bytes, 9U);
  ASSERT_EQ(graph.options.size(), 1U);
  EXPECT_EQ(graph.options[0].key + graph.options[0].value, "htpDlbc1");
}

TEST(QnnJson, AStrangeScaleOfAForeignContainerIsNotUsed) {
  DescribedTensor tensor{"x", "uint8", {1}, {{0.5, -3}}};
  EXPECT_EQ(described_quantisation(tensor), (TensorQuantisation{0.5, 3, ""}));
  for (const DescribedScale& strange :
       {DescribedScale{0, 0}, DescribedScale{-1, 0}, DescribedScale{std::numeric_limits<double>::quiet_NaN(), 0},
        DescribedScale{std::numeric_limits<double>::infinity(), 0},
        DescribedScale{1, std::numeric_limits<std::int64_t>::min()}}) {
    tensor.scales = {strange};
    EXPECT_FALSE(described_quantisation(tensor)) << strange.scale;
  }
  EXPECT_FALSE(described_quantisation({"x", "int32", {1}, {{0.5, 0}}}));
  EXPECT_FALSE(described_quantisation({"x", "nonsense", {1}, {{0.5, 0}}}));
}

TEST(QnnJson, TheOlderSpellingOfSignedTypesIsUnderstood) {
  json document = of_utility();
  auto& type = document["info"]["graphs"][0]["info"]["graphOutputs"][0]["info"]["dataType"];
  type = "QNN_DATATYPE_FIXED_POINT_16";
  const auto found = parsed(document);
  ASSERT_TRUE(is_ok(found));
  EXPECT_EQ(found.value().graphs[0].outputs[0].dtype, DType::kI16);
}

// Shows S3.67: mistakes that the vendor's script prints and ignores are errors here.
TEST(QnnJson, MistakesAreNamedWithTheirPlace) {
  struct Mistake {
    std::string pointer;
    json value;
    const char* said;
  };
  const std::string x = "/info/graphs/0/info/graphInputs/0/info";
  const Mistake of_the_utility[] = {
      {"/info", 7, "neither info.graphs, as qnn-context-binary-utility writes it, nor graph.tensors"},
      {"/info/graphs", json::array(), "/info/graphs: is empty"},
      {"/info/graphs/0/info/graphName", "", "graphName: found \"\"; allowed: a string"},
      {"/info/graphs/0/info/graphOutputs", 7, "graphOutputs: found 7"},
      {x + "/dataType", "QNN_DATATYPE_UNDEFINED", "dataType: found \"QNN_DATATYPE_UNDEFINED\""},
      {x + "/dimensions/1", -1, "dimensions/1: found -1"},
      {x + "/quantizeParams", 7, "quantizeParams: found 7"},
      {x + "/quantizeParams/scaleOffset/scale", 0, "scale: found 0; allowed: a number above 0"},
      {x + "/quantizeParams/scaleOffset/offset", 1, "offset: found 1; allowed: a whole number from -255 to 0"},
  };
  for (const Mistake& mistake : of_the_utility) {
    json document = of_utility();
    document[json::json_pointer(mistake.pointer)] = mistake.value;
    const auto found = parsed(document);
    ASSERT_TRUE(fails_with(found, ErrorCode::kInvalidArgument)) << mistake.pointer;
    EXPECT_THAT(found.error().message, HasSubstr(mistake.said));
    EXPECT_THAT(found.error().message, HasSubstr("net.json"));
  }
  json outputless = of_converter();
  outputless["graph"]["tensors"].erase("out");
  const auto found = parsed(outputless);
  ASSERT_TRUE(fails_with(found, ErrorCode::kInvalidArgument));
  EXPECT_THAT(found.error().message, HasSubstr("/graph/tensors: lists no input (type 0) or no output (type 1)"));
  EXPECT_TRUE(fails_with(parse_qnn_json("[1]", "net.json"), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(fails_with(parse_qnn_json("{", "net.json"), ErrorCode::kInvalidArgument));
}

// Shows that nothing in a document is trusted: any value of it may be anything.
TEST(QnnJson, AnyValueInAnyPlaceIsAnAnswerOrAnError) {
  for (const json& whole : {of_utility(), of_converter()}) {
    const json flat = whole.flatten();
    for (const auto& [pointer, value] : flat.items()) {
      for (const json& other : {json(nullptr), json(-1), json(1e300), json("text"), json::array(), json::object()}) {
        json document = whole;
        document[json::json_pointer(pointer)] = other;
        const auto found = parsed(document);
        EXPECT_TRUE(found.ok() || found.error().code == ErrorCode::kInvalidArgument) << pointer;
      }
    }
  }
}

}  // namespace qnn_json_test
}  // namespace fatctx::tools
