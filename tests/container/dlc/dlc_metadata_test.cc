#include "container/dlc/metadata.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/dlc_file.h"
#include "support/result_matchers.h"

namespace fatctx::container::dlc {
namespace dlc_metadata_test {

using support::fails_with;
using support::is_ok;

const Names kEntries = {"htp.shared.weights.0", "htp.metadata.shared_weights.0_metadata", "htp.cache.57.0",
                        "htp.cache.69.0", "dlc.metadata2.3.0"};

std::vector<std::string> names_of(const CacheFacts& facts) {
  std::vector<std::string> names;
  for (const DescribedGraph& graph : facts.graphs) names.push_back(graph.name);
  return names;
}

std::string texts_of(const std::vector<DescribedOption>& options) {
  std::string texts;
  for (const DescribedOption& option : options) texts += option.key + "=" + option.value + " ";
  return texts;
}

Result<Metadata> parse(std::string_view text) { return parse_metadata(text, 1000, kEntries); }

TEST(DlcMetadata, FactsOfATargetAreFoundWhereverTheyStandInItsRow) {
  const auto metadata = parse(support::kTwoSocMetadata);

  ASSERT_TRUE(is_ok(metadata));
  ASSERT_EQ(metadata.value().caches.size(), 2U);
  const CacheFacts& facts = metadata.value().caches[0];
  EXPECT_EQ(facts.entry, "htp.cache.57.0");
  EXPECT_EQ(facts.qnn_soc, 57U);
  EXPECT_EQ(facts.arch, 75U);
  EXPECT_EQ(facts.vtcm_mb, 8U);  // the largest of its graphs
  EXPECT_EQ(facts.build_id, "v2.51.0.260101120000_9");
  EXPECT_EQ(facts.sdk, (Version{2, 51, 0, 0}));
  EXPECT_EQ(facts.api, (Version{2, 38, 0, 0}));
  EXPECT_EQ(facts.blob, (Version{3, 3, 3, 0}));
  EXPECT_EQ(names_of(facts), (std::vector<std::string>{"prefill", "decode", "extend"}));
  EXPECT_EQ(texts_of(facts.facts),
            "backendId=6 backendApiVersion=5.51.0 contextBlobSize=8000 "
            "timestamp=2026-01-01 12:00:00 UTC ");
  EXPECT_EQ(metadata.value().written_at, "2026-01-01 12:00:07 UTC");
}

// Shows S4.50.
TEST(DlcMetadata, InputsOutputsAndFactsOfAGraphAreReadWithTheirScales) {
  const auto metadata = parse(support::kTwoSocMetadata);

  ASSERT_TRUE(is_ok(metadata));
  const DescribedGraph& prefill = metadata.value().caches[0].graphs.at(0);
  ASSERT_EQ(prefill.inputs.size(), 2U);
  EXPECT_EQ(prefill.inputs[0].name, "tokens");
  EXPECT_EQ(prefill.inputs[0].dtype, "int32");
  EXPECT_EQ(prefill.inputs[0].shape, (std::vector<std::int64_t>{1, 8}));
  EXPECT_TRUE(prefill.inputs[0].scales.empty());
  EXPECT_EQ(prefill.inputs[1].dtype, "uint8");
  EXPECT_EQ(prefill.inputs[1].scales, (std::vector<DescribedScale>{{0.02941391058266163, -125}}));
  ASSERT_EQ(prefill.outputs.size(), 1U);
  EXPECT_EQ(prefill.outputs[0].scales, (std::vector<DescribedScale>{{0.5, 0}, {0.25, 3}}));
  EXPECT_EQ(prefill.outputs[0].axis, 1U);
  EXPECT_EQ(texts_of(prefill.options),
            "optimizationLevel=3 htpDlbc=0 numHvxThreads=4 ioTensorSize=24576 opDataSize=12544 constSize=0 "
            "sharedWeightsSize=12288 startOpIndex=0 endOpIndex=41 ");
  EXPECT_EQ(metadata.value().undescribed_graphs, 0U);
}

TEST(DlcMetadata, WhatIsSaidOfTheWholeArchiveIsKeptInBothForms) {
  const auto json = parse(R"({"header": {"artifact_type": "DLC", "version": {"major": 2, "minor": 3, "patch": 1},
      "timestamp": "now"}, "version-info": [{"converter-command": "convert --in x", "ok": true}], "tools": ["a", 7],
      "cacheList": [], "relations": [], "nothing": null, "empty": ""})");
  ASSERT_TRUE(is_ok(json));
  EXPECT_EQ(texts_of(json.value().facts),
            "header.artifact_type=DLC header.version=2.3.1 version-info.converter-command=convert --in x "
            "version-info.ok=true tools=a, 7 ");
  EXPECT_EQ(json.value().written_at, "now");
  EXPECT_EQ(json.value().left_out_facts, 0U);

  const auto lines =
      parse("converter-command=convert a=b\r\nno fact\n=neither\nempty=\ncopyright=\xc3\xa9\nbad=\xff\nlast=1");
  ASSERT_TRUE(is_ok(lines));
  EXPECT_EQ(texts_of(lines.value().facts), "converter-command=convert a=b copyright=\xc3\xa9 last=1 ");
  EXPECT_EQ(lines.value().left_out_facts, 1U);
}

TEST(DlcMetadata, FactsBeyondTheLimitsAreCounted) {
  std::string many;
  for (int i = 0; i < 600; ++i) many += "k" + std::to_string(i) + "=v\n";
  EXPECT_EQ(parse(many).value().facts.size(), 512U);
  EXPECT_EQ(parse(many).value().left_out_facts, 88U);
  const auto large = parse("a=" + std::string((256U << 10) + 1, 'x') + "\nb=1\n" + std::string(300, 'k') + "=1");
  EXPECT_EQ(texts_of(large.value().facts), "b=1 ");
  EXPECT_EQ(large.value().left_out_facts, 2U);
}

// Returns metadata of one graph, with `tensor` as its only input.
std::string with_input(const std::string& tensor) {
  return R"({"cacheList": [{"cacheName": "htp.cache.57.0", "graphs": [
      {"graphName": "g", "graphBlobInfo": {"spillFillBufferSize": 7, "vtcmSize": 4}, "graphInputs": [)" +
         tensor + R"(], "graphOutputs": []}]}]})";
}

TEST(DlcMetadata, AGraphThatIsNotUnderstoodKeepsItsNameAndIsCounted) {
  const struct {
    const char* tensor;
    const char* why;
  } cases[] = {
      {R"({"name": "x", "dataType": "QNN_DATATYPE_UNDEFINED", "dimensions": [1]})", "/graphInputs/0/dataType: found"},
      {R"({"name": "x", "dataType": "QNN_DATATYPE_INT_8", "dimensions": [-1]})",
       "/graphInputs/0/dimensions/0: found -1"},
      {R"({"name": "x", "dataType": "QNN_DATATYPE_INT_8", "dimensions": 7})", "found 7; allowed: an array"},
      {R"({"name": "", "dataType": "QNN_DATATYPE_INT_8", "dimensions": []})", "/graphInputs/0/name: found \"\""},
      {R"({"name": "a\u0007", "dataType": "QNN_DATATYPE_INT_8", "dimensions": []})", "/graphInputs/0: "},
      {"7", "/graphInputs/0: found 7"},
      {R"({"name": "x", "dataType": "QNN_DATATYPE_SFIXED_POINT_8", "dimensions": [2], "quantizeParams": {
          "definition": "QNN_DEFINITION_DEFINED", "quantizationEncoding": "QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET",
          "axisScaleOffset": {"axis": 1, "scaleOffsets": []}}})",
       "axis: found 1; allowed: a dimension below 1"},
      {R"({"name": "x", "dataType": "QNN_DATATYPE_SFIXED_POINT_8", "dimensions": [2], "quantizeParams": {
          "definition": "QNN_DEFINITION_DEFINED", "quantizationEncoding": "QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET",
          "axisScaleOffset": {"axis": 0, "scaleOffsets": [{"scale": 1, "offset": 0}]}}})",
       "has 1 scales for 2 indexes of dimension 0"},
      {R"({"name": "x", "dataType": "QNN_DATATYPE_SFIXED_POINT_8", "dimensions": [2], "quantizeParams": {
          "definition": "QNN_DEFINITION_DEFINED", "quantizationEncoding": "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET",
          "scaleOffset": {"scale": 1e400, "offset": 0}}})",
       "scale: found 1e400; allowed: a number above 0"},
  };
  for (const auto& c : cases) {
    const auto metadata = parse(with_input(c.tensor));
    ASSERT_TRUE(is_ok(metadata)) << c.tensor;
    const CacheFacts& facts = metadata.value().caches.at(0);
    EXPECT_EQ(names_of(facts), (std::vector<std::string>{"g"}));
    EXPECT_EQ(facts.graphs[0].spill_fill_bytes, 7U);
    EXPECT_TRUE(facts.graphs[0].inputs.empty());
    EXPECT_EQ(metadata.value().undescribed_graphs, 1U) << c.tensor;
    EXPECT_NE(metadata.value().first_undescribed.find(c.why), std::string::npos) << metadata.value().first_undescribed;
    EXPECT_NE(metadata.value().first_undescribed.find("\"g\" of \"htp.cache.57.0\""), std::string::npos);
  }
}

// A container has 1 MiB for all its descriptions: what would not fit is left out, and the archive stays usable.
TEST(DlcMetadata, InputsBeyondTheBudgetAreLeftOut) {
  const auto graph = [](const std::string& name, std::size_t tensors) {
    std::string text = R"({"graphName": ")" + name + R"(", "graphInputs": [)";
    for (std::size_t i = 0; i < tensors; ++i) {
      text += (i == 0 ? "" : ",") + (R"({"name": "t)" + std::to_string(i)) +
              R"(", "dataType": "QNN_DATATYPE_INT_8", "dimensions": [1]})";
    }
    return text + "]}";
  };
  const auto metadata = parse(R"({"cacheList": [{"cacheName": "htp.cache.57.0", "graphs": [)" + graph("small", 3) +
                              "," + graph("large", 20000) + "," + graph("next", 2) + "]}]}");

  ASSERT_TRUE(is_ok(metadata));
  const auto& graphs = metadata.value().caches.at(0).graphs;
  ASSERT_EQ(graphs.size(), 3U);
  EXPECT_EQ(graphs[0].inputs.size(), 3U);
  EXPECT_EQ(graphs[1].inputs.size(), 0U);
  EXPECT_EQ(graphs[2].inputs.size(), 2U);
  EXPECT_EQ(metadata.value().undescribed_graphs, 1U);
  EXPECT_EQ(metadata.value().first_undescribed, "\"large\" of \"htp.cache.57.0\": they take more than 524288 bytes");
}

TEST(DlcMetadata, AGraphHasSixtyFourFactsAtMost) {
  std::string blob = R"("vtcmSize": 4, "text": "no number")";
  for (int i = 0; i < 100; ++i) blob += ", \"fact" + std::to_string(i) + "\": " + std::to_string(i);
  const auto metadata = parse(R"({"cacheList": [{"cacheName": "htp.cache.57.0", "graphs": [{"graphName": "g",
      "graphBlobInfo": {)" + blob +
                              "}}]}]}");

  ASSERT_TRUE(is_ok(metadata));
  const auto& options = metadata.value().caches.at(0).graphs.at(0).options;
  EXPECT_EQ(options.size(), 64U);
  EXPECT_EQ(options[1].key, "fact0");
  EXPECT_EQ(options[1].owner, "qnn");
}

// Shows S1.23: the vendor writes graphBlobInfo after the name, a sorted text has it before the name.
TEST(DlcMetadata, ASpillFillSizeBelongsToTheGraphItStandsIn) {
  const auto metadata = parse(R"({"cacheList": [{"cacheName": "htp.cache.57.0", "graphs": [
      {"graphBlobInfo": {"spillFillBufferSize": 4096}, "graphName": "prefill"},
      {"info": {"graphName": "decode", "graphBlobInfo": {"info": {"spill_fill_buffer_size": 1703936}}}},
      {"name": "extend"},
      {"graphName": "wild", "graphBlobInfo": {"spillFillBufferSize": 18446744073709551615}}]}]})");

  ASSERT_TRUE(is_ok(metadata));
  const CacheFacts& facts = metadata.value().caches.at(0);
  EXPECT_EQ(names_of(facts), (std::vector<std::string>{"prefill", "decode", "extend", "wild"}));
  std::vector<std::uint64_t> sizes;
  for (const DescribedGraph& graph : facts.graphs) sizes.push_back(graph.spill_fill_bytes);
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{4096, 1703936, 0, 0}));
}

TEST(DlcMetadata, OtherSpellingsOfTheSameFactsAreRead) {
  const auto metadata = parse(R"({"cacheList": [{"name": "htp.cache.57.0", "soc_model": "57", "DSP Arch": "v75",
      "vtcm_size": 8388608, "core_api_version": {"major": 2, "minor": 38, "patch": 1}}]})");

  ASSERT_TRUE(is_ok(metadata));
  const CacheFacts& facts = metadata.value().caches.at(0);
  EXPECT_EQ(facts.qnn_soc, 57U);
  EXPECT_EQ(facts.arch, 75U);
  EXPECT_EQ(facts.vtcm_mb, 8U);
  EXPECT_EQ(facts.api, (Version{2, 38, 1, 0}));
}

TEST(DlcMetadata, ABuildIdThatBeginsWithNoVersionGivesNone) {
  for (const char* text : {"", "v", "unknown", "v.", "70000.1", "v99999999999999999999"}) {
    const auto metadata =
        parse(std::string(R"({"cacheList": [{"cacheName": "htp.cache.57.0", "buildId": ")") + text + "\"}]}");
    ASSERT_TRUE(is_ok(metadata));
    EXPECT_FALSE(metadata.value().caches.at(0).sdk.known()) << text;
  }
}

TEST(DlcMetadata, RelationsAreEntriesThatAreMentionedTogether) {
  const auto metadata = parse(support::kTwoSocMetadata);

  ASSERT_TRUE(is_ok(metadata));
  ASSERT_EQ(metadata.value().relations.size(), 3U);
  EXPECT_EQ(metadata.value().relations[1], (std::vector<std::string>{"htp.cache.57.0", "htp.shared.weights.0"}));
}

TEST(DlcMetadata, RowsForWhatIsNotThereAreNamed) {
  const auto metadata = parse(R"({"cacheList": [{"cacheName": "htp.cache.99.0"}, {}]})");

  ASSERT_TRUE(is_ok(metadata));
  EXPECT_EQ(metadata.value().missing, (std::vector<std::string>{"htp.cache.99.0", ""}));
}

TEST(DlcMetadata, LinesOfKeysAndValuesSayNothingOfTargets) {
  const auto metadata = parse("model-version=1\nconverter=x\n");

  ASSERT_TRUE(is_ok(metadata));
  EXPECT_FALSE(metadata.value().json);
  EXPECT_TRUE(metadata.value().caches.empty());
}

TEST(DlcMetadata, WhatIsNoJsonIsRefusedAtItsByte) {
  const auto metadata = parse("{\"cacheList\": [}");

  ASSERT_TRUE(fails_with(metadata, ErrorCode::kMalformed));
  EXPECT_EQ(metadata.error().where.file_offset, 1015U);
}

TEST(DlcMetadata, ZerosBehindTheTextAreLeftOutAndOneInsideIsNoJson) {
  EXPECT_TRUE(is_ok(parse(std::string("{}\0\0", 4))));
  const auto hidden = parse(std::string("{}\0{}", 5));
  ASSERT_TRUE(fails_with(hidden, ErrorCode::kMalformed));
  EXPECT_EQ(hidden.error().where.file_offset, 1002U);
}

TEST(DlcMetadata, AKeyThatIsThereTwiceIsRefused) {
  EXPECT_TRUE(fails_with(parse(R"({"cacheList": [], "cacheList": []})"), ErrorCode::kMalformed));
  EXPECT_TRUE(is_ok(parse(R"({"a": {"k": 1}, "b": {"k": 1}})")));
}

TEST(DlcMetadata, CuttingKeepsNumbersAndTextsAsTheyAre) {
  const std::string text =
      R"({"a":18446744073709551615,"b":-3,"c":0.25,"d":"\u00e4 \"\\","e":[true,false,null],"f":{}})";

  const auto cut = cut_metadata(text, 0, {"b "});

  ASSERT_TRUE(is_ok(cut));
  EXPECT_EQ(nlohmann::ordered_json::parse(cut.value()), nlohmann::ordered_json::parse(text));
  EXPECT_EQ(cut.value().find('\\'), cut.value().find("\\\""));  // other characters than ASCII are written unchanged
}

TEST(DlcMetadata, MalformedContentIsRefused) {
  EXPECT_TRUE(fails_with(parse("{\"cacheList\": 7}"), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(parse("{\"a\": \"\xff\"}"), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(parse(R"({"cacheList": [{"cacheName": "htp.cache.57.0"}, {"cacheName": "htp.cache.57.0"}]})"),
                         ErrorCode::kMalformed));
}

TEST(DlcMetadata, DeepWideAndLongTextsAreRefusedBeforeTheyTakeMemory) {
  EXPECT_TRUE(fails_with(parse("{\"a\":" + std::string(1'000'000, '[')), ErrorCode::kLimitExceeded));
  std::string wide = "{\"k\":0";
  for (int i = 0; i < 2000; ++i) wide += ",\"" + std::to_string(i) + "\":0";
  EXPECT_TRUE(fails_with(parse(wide + "}"), ErrorCode::kLimitExceeded));
  std::string many = "{\"a\":[0";
  for (int i = 0; i < 1'100'000; ++i) many += ",0";
  EXPECT_TRUE(fails_with(parse(many + "]}"), ErrorCode::kLimitExceeded));
  EXPECT_TRUE(fails_with(parse("{" + std::string(kMaxMetadataBytes, ' ')), ErrorCode::kLimitExceeded));
  std::string rows = "{\"cacheList\":[{}";
  for (int i = 0; i < 5000; ++i) rows += ",{}";
  EXPECT_TRUE(fails_with(parse(rows + "]}"), ErrorCode::kLimitExceeded));
  std::string relations = "{\"relations\":[0";
  for (int i = 0; i < 40'000; ++i) relations += R"(,["htp.cache.57.0","htp.cache.69.0"])";
  EXPECT_TRUE(fails_with(parse(relations + "]}"), ErrorCode::kLimitExceeded));
}

TEST(DlcMetadata, CuttingRemovesRowsAndRelationsOfWhatIsDroppedAndNothingElse) {
  const auto text = cut_metadata(support::kTwoSocMetadata, 1000, {"htp.cache.69.0"});

  ASSERT_TRUE(is_ok(text));
  auto expected = nlohmann::ordered_json::parse(support::kTwoSocMetadata);
  expected["cacheList"].erase(1);
  expected["relations"].erase(2);
  EXPECT_EQ(text.value(), expected.dump());
}

TEST(DlcMetadata, CuttingRemovesNamesFromListsAndKeys) {
  const auto text = cut_metadata(R"({"names": ["a", "b", ["b"]], "b": 1, "c": {"b": 2, "d": "b"}})", 0, {"b"});

  ASSERT_TRUE(is_ok(text));
  EXPECT_EQ(text.value(), R"({"names":["a",[]],"c":{"d":"b"}})");
}

TEST(DlcMetadata, CuttingLinesRemovesThoseWithADroppedName) {
  const auto text =
      cut_metadata("x=1\nrecord=backend.metadata1\nrecord=backend.metadata10\nlast", 0, {"backend.metadata1"});

  ASSERT_TRUE(is_ok(text));
  EXPECT_EQ(text.value(), "x=1\nrecord=backend.metadata10\nlast");
}

}  // namespace dlc_metadata_test
}  // namespace fatctx::container::dlc
