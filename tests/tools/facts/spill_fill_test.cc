// Spill-fill buffers from their sources to the requests for them: sizes of graphs in containers, max_size of EPContext
// nodes. Shows S1.23.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/command_fixture.h"
#include "tools/ctx_gen/ctx_gen_engine.h"
#include "tools/onnx/onnx_import.h"
#include "tools/pack/ep_context_files.h"

namespace fatctx::tools {
namespace spill_fill_test {

using nlohmann::json;
using support::set_number;
using support::set_text;
using support::write_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

json graph(const std::string& name, std::uint64_t spill_fill_bytes) {
  json made = {{"name", name},
               {"inputs", {{{"name", name + ".x"}, {"dtype", "float32"}, {"shape", {1, 3}}}}},
               {"outputs", {{{"name", name + ".y"}, {"dtype", "float32"}, {"shape", {1, 3}}}}}};
  if (spill_fill_bytes != 0) made["spill_fill_bytes"] = spill_fill_bytes;
  return made;
}

json binary(const std::string& name, const char* unit, std::uint32_t soc, json graphs) {
  return {{"type", "context_binary"},
          {"name", name},
          {"file", name + ".bin"},
          {"unit", unit},
          {"target", {{"backend", "htp"}, {"qnn_soc", soc}}},
          {"quant", {{"activation_type", "uint8"}}},
          {"graphs", std::move(graphs)}};
}

class SpillFill : public support::CommandTest {
 protected:
  void SetUp() override { set_ctx_gen_engine(nullptr); }
  void TearDown() override { set_ctx_gen_engine(nullptr); }

  ExitCode pack(const std::vector<json>& records) {
    for (const json& record : records) {
      const std::string name = record["name"];
      write_text(path(name + ".bin"), "the binary " + name);
    }
    const json manifest = {{"schema", "fatctx.manifest/1"}, {"name", "m"}, {"records", records}};
    write_text(path("m.json"), manifest.dump());
    return run_and_keep({"pack", path("m.json"), "-o", path("m.fatctx")});
  }

  // Returns max_size of the main nodes of a model, by the names of the nodes.
  std::vector<std::pair<std::string, std::int64_t>> asked_by(const std::string& model) const {
    const auto read = read_onnx(path(model));
    std::vector<std::pair<std::string, std::int64_t>> asked;
    if (!read.ok()) return asked;
    for (const OnnxEpContext& node : read.value().ep_contexts) {
      if (node.main_context) asked.emplace_back(node.partition_name, node.max_size);
    }
    return asked;
  }

  std::int64_t asked_when_wrapped(const std::string& record, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"wrap", path("m.fatctx"), record, "--force", "-o", path("m_ctx.onnx")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(run_and_keep(arguments), ExitCode::kOk) << err_;
    const auto asked = asked_by("m_ctx.onnx");
    return asked.size() == 1 ? asked[0].second : -1;
  }

  // Returns sizes by graph, as `info` prints them in its JSON; 0 if it prints none.
  std::vector<std::pair<std::string, std::uint64_t>> stored(const std::string& container) {
    EXPECT_EQ(run_and_keep({"info", path(container), "--graphs", "--json"}), ExitCode::kOk) << err_;
    std::vector<std::pair<std::string, std::uint64_t>> sizes;
    const json said = json::parse(out_);
    for (const json& one : said["graphs"]) {
      sizes.emplace_back(one["name"], one.value("spill_fill_bytes", std::uint64_t{0}));
    }
    return sizes;
  }
};

TEST_F(SpillFill, EveryRecordOfAGroupAsksForTheLargestOfItsTarget) {
  ASSERT_EQ(pack({binary("prefill", "prefill", 57, json::array({graph("prefill", 4096), graph("extend", 65536)})),
                  binary("decode", "decode", 57, json::array({graph("decode", 1048576)})),
                  binary("other", "decode", 69, json::array({graph("decode", 9999999)})),
                  binary("silent", "silent", 69, json::array({graph("silent", 0)}))}),
            ExitCode::kOk)
      << err_;

  EXPECT_EQ(asked_when_wrapped("prefill"), 1048576);
  EXPECT_EQ(asked_when_wrapped("decode"), 1048576);
  EXPECT_EQ(asked_when_wrapped("silent"), 9999999);
  EXPECT_EQ(asked_when_wrapped("decode", {"--max-size", "77"}), 77);
}

// A device loads both: one of them does not state its SoC.
TEST_F(SpillFill, WhatARecordDoesNotSayOfItsTargetFitsEveryOther) {
  json unsaid = binary("decode", "decode", 57, json::array({graph("decode", 1048576)}));
  unsaid["target"] = {{"backend", "htp"}, {"arch", "v75"}};
  ASSERT_EQ(pack({binary("prefill", "prefill", 57, json::array({graph("prefill", 4096)})), unsaid}), ExitCode::kOk)
      << err_;

  EXPECT_EQ(asked_when_wrapped("prefill"), 1048576);
}

TEST_F(SpillFill, WhatNobodyStatesIsNotAskedFor) {
  ASSERT_EQ(pack({binary("silent", "silent", 69, json::array({graph("silent", 0)}))}), ExitCode::kOk) << err_;
  EXPECT_EQ(asked_when_wrapped("silent"), 0);
  EXPECT_THAT(stored("m.fatctx"), ElementsAre(Pair("silent", 0U)));
}

TEST_F(SpillFill, InfoShowsItOfEveryGraphAndTheLargestOfARecord) {
  ASSERT_EQ(pack({binary("prefill", "prefill", 57, json::array({graph("prefill", 4096), graph("extend", 65536)}))}),
            ExitCode::kOk)
      << err_;

  EXPECT_THAT(stored("m.fatctx"), ElementsAre(Pair("prefill", 4096U), Pair("extend", 65536U)));
  EXPECT_EQ(json::parse(out_)["records"][0]["spill_fill_bytes"], 65536U) << out_;
  ASSERT_EQ(run_and_keep({"info", path("m.fatctx"), "--graphs", "--records"}), ExitCode::kOk);
  EXPECT_THAT(out_, HasSubstr("    spill-fill  4.0 KiB (4,096 bytes)\n"));
  EXPECT_THAT(out_, HasSubstr("spill-fill:   64.0 KiB (65,536 bytes) at most\n"));
}

TEST_F(SpillFill, ARecordOfTheFileThatIsMadeAnewKeepsIt) {
  ASSERT_EQ(pack({binary("prefill", "prefill", 57, json::array({graph("prefill", 4096)}))}), ExitCode::kOk) << err_;
  ASSERT_EQ(run_and_keep({"compact", path("m.fatctx"), "-o", path("c.fatctx")}), ExitCode::kOk) << err_;
  EXPECT_THAT(stored("c.fatctx"), ElementsAre(Pair("prefill", 4096U)));
}

TEST_F(SpillFill, MoreThanANodeCanAskForIsRefusedWhereItIsStated) {
  json record = binary("prefill", "prefill", 57, json::array({graph("prefill", 4096)}));
  record["graphs"][0]["spill_fill_bytes"] = std::uint64_t{1} << 63;
  EXPECT_EQ(pack({record}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("/records/0/graphs/0/spill_fill_bytes: found 9223372036854775808"));
}

// Returns JSON as from qnn-context-binary-utility: two graphs, of which the second has a scale and a buffer.
json utility_json() {
  const auto tensor = [](const char* name) {
    return json{{"info",
                 {{"name", name},
                  {"dataType", "QNN_DATATYPE_UFIXED_POINT_8"},
                  {"dimensions", {1, 3}},
                  {"quantizeParams",
                   {{"definition", "QNN_DEFINITION_DEFINED"},
                    {"quantizationEncoding", "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET"},
                    {"scaleOffset", {{"offset", -128}, {"scale", 0.5}}}}}}}};
  };
  const auto of = [&](const char* name, const char* end, std::uint64_t size) {
    const std::string x = std::string("x") + end;
    const std::string y = std::string("y") + end;
    return json{{"info",
                 {{"graphName", name},
                  {"graphInputs", {tensor(x.c_str())}},
                  {"graphOutputs", {tensor(y.c_str())}},
                  {"graphBlobInfo", {{"info", {{"spillFillBufferSize", size}, {"vtcmSize", 8}}}}}}}};
  };
  return {{"info", {{"buildId", "v2.51.0.1"}, {"graphs", {of("prefill", "1", 0), of("decode", "2", 32768)}}}}};
}

TEST_F(SpillFill, TheVendorsJsonDescribesABinaryAndItsSizesAreAskedFor) {
  write_text(path("net.json"), utility_json().dump());
  ASSERT_EQ(pack({binary("m", "whole", 57, {{"from", "net.json"}})}), ExitCode::kOk) << err_;
  EXPECT_THAT(stored("m.fatctx"), ElementsAre(Pair("prefill", 0U), Pair("decode", 32768U)));
  EXPECT_EQ(asked_when_wrapped("m"), 32768);
  // Its scales are kept: the model has float32 outside.
  const auto model = read_onnx(path("m_ctx.onnx"));
  ASSERT_TRUE(model.ok());
  EXPECT_TRUE(model.value().operators.contains("QuantizeLinear"));

  ASSERT_EQ(run_and_keep({"pack", "--binary", path("m.bin") + "@htp:v75", "--tensors-from", path("net.json"), "--name",
                          "m", "-o", path("flag.fatctx")}),
            ExitCode::kOk)
      << err_;
  EXPECT_THAT(stored("flag.fatctx"), ElementsAre(Pair("prefill", 0U), Pair("decode", 32768U)));
}

TEST_F(SpillFill, JsonGivenToWrapCountsToo) {
  json record = binary("m", "whole", 57, json::array());
  record.erase("graphs");
  ASSERT_EQ(pack({record}), ExitCode::kOk) << err_;
  write_text(path("net.json"), utility_json().dump());
  EXPECT_EQ(asked_when_wrapped("m", {"--qnn-json", path("net.json")}), 32768);
}

TEST_F(SpillFill, JsonThatNamesNoGraphIsRefused) {
  write_text(path("net.json"), R"({"graph": {"tensors": {"x": {"type": 0, "data_type": 562, "dims": [1]},
                                                         "y": {"type": 1, "data_type": 562, "dims": [1]}}}})");
  EXPECT_EQ(pack({binary("m", "whole", 57, {{"from", "net.json"}})}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("net.json: does not say what the graph is called"));
}

// Returns the output of a provider: a model with a graph for each, of which the second requests more than the first.
Result<EngineReport> left_by_provider(const EngineRequest& request, bool one_binary) {
  const std::array<std::int64_t, 2> sizes = {one_binary ? 0 : 1000, 5000};
  EngineReport report{.runtime = "1.0", .device = "pretended", .seconds = {}};
  for (std::size_t i = 0; i < request.models.size(); ++i) {
    const std::filesystem::path out(request.models[i].output);
    const std::string file = (one_binary ? "shared" : out.stem().string()) + "_qnn.bin";
    write_text((out.parent_path() / file).string(), "binary " + file);
    onnx::ModelProto model = support::context_model(file);
    onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
    set_text(node, "partition_name", i == 0 ? "first" : "second");
    set_number(node, "max_size", sizes[i]);
    support::write_model(out.string(), model);
    report.seconds.push_back(0);
  }
  return report;
}
Result<EngineReport> two_binaries(const EngineRequest& request) { return left_by_provider(request, false); }
Result<EngineReport> one_binary(const EngineRequest& request) { return left_by_provider(request, true); }

TEST_F(SpillFill, OfOneBinaryOfTwoModelsTheLastModelSaysTheSize) {
  for (const char* name : {"a.onnx", "b.onnx"}) support::write_model(path(name), support::tiny_model());
  write_text(path("provider.so"), "never loaded here");
  set_ctx_gen_engine(&one_binary);
  ASSERT_EQ(run_and_keep({"ctx-gen", "-e", "qnn", "--library", path("provider.so"), path("a.onnx"), path("b.onnx")}),
            ExitCode::kOk)
      << err_;

  EXPECT_THAT(asked_by("a_ctx.onnx"), ElementsAre(Pair("first", 5000)));
  EXPECT_THAT(asked_by("b_ctx.onnx"), ElementsAre(Pair("second", 5000)));
  // The source does not say which of the two graphs needs it.
  EXPECT_THAT(stored("a.fatctx"), ElementsAre(Pair("first", 0U), Pair("second", 0U)));
  ASSERT_EQ(run_and_keep({"wrap", path("a.fatctx"), "#1", "--graph", "first", "-o", path("w_ctx.onnx")}), ExitCode::kOk)
      << err_;
  EXPECT_THAT(asked_by("w_ctx.onnx"), ElementsAre(Pair("first", 5000)));
}

TEST_F(SpillFill, CtxGenWritesTheLargestIntoEveryModelAndKeepsWhatEachGraphNeeds) {
  for (const char* name : {"a.onnx", "b.onnx"}) support::write_model(path(name), support::tiny_model());
  write_text(path("provider.so"), "never loaded here");
  set_ctx_gen_engine(&two_binaries);
  ASSERT_EQ(run_and_keep({"ctx-gen", "-e", "qnn", "--library", path("provider.so"), "-i",
                          "soc_model|57 enable_htp_spill_fill_buffer|1", path("a.onnx") + "," + path("b.onnx")}),
            ExitCode::kOk)
      << err_;

  EXPECT_THAT(err_, HasSubstr("a_ctx.onnx: max_size is that of the group, 5000"));
  EXPECT_THAT(asked_by("a_ctx.onnx"), ElementsAre(Pair("first", 5000)));
  EXPECT_THAT(asked_by("b_ctx.onnx"), ElementsAre(Pair("second", 5000)));
  EXPECT_THAT(stored("a.fatctx"), UnorderedElementsAre(Pair("first", 1000U), Pair("second", 5000U)));
  ASSERT_EQ(run_and_keep({"info", path("a.fatctx"), "--options"}), ExitCode::kOk);
  EXPECT_THAT(out_, HasSubstr("enable_htp_spill_fill_buffer"));
  ASSERT_EQ(run_and_keep({"wrap", path("a.fatctx"), "#1", "-o", path("w_ctx.onnx")}), ExitCode::kOk) << err_;
  EXPECT_THAT(asked_by("w_ctx.onnx"), ElementsAre(Pair("first", 5000)));
}

}  // namespace spill_fill_test
}  // namespace fatctx::tools
