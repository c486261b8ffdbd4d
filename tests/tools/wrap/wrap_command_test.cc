// `fatctx wrap` and `fatctx verify --onnx` from end to end: files in, files out. Shows S3.58, S3.65 and S3.67.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "fatctx/content_hash.h"
#include "tools/command_fixture.h"
#include "tools/onnx/onnx_import.h"
#include "tools/pack/ep_context_files.h"

namespace fatctx::tools {
namespace wrap_command_test {

namespace fs = std::filesystem;

using support::set_number;
using support::set_text;
using support::write_text;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kBinary = "a context binary of 36 bytes, opaque";

// Returns a model as the QNN provider writes it if conversions stay on the CPU: x -> Quantize -> EPContext ->
// Dequantize -> y, and a second graph that takes its binary from the first.
onnx::ModelProto converted_model() {
  onnx::ModelProto model = support::fixed_model();
  auto& graph = *model.mutable_graph();
  graph.clear_node();
  graph.clear_initializer();
  const auto constant = [&graph](const char* name, int type, float number) {
    auto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    if (type == onnx::TensorProto::FLOAT) {
      tensor.add_float_data(number);
    } else {
      tensor.set_raw_data(std::string(1, static_cast<char>(number)));
    }
  };
  constant("s", onnx::TensorProto::FLOAT, 0.5F);
  constant("z", onnx::TensorProto::UINT8, 7);
  const auto convert = [&graph](const char* operation, const char* from, const char* to) {
    auto& node = *graph.add_node();
    node.set_op_type(operation);
    for (const char* input : {from, "s", "z"}) node.add_input(input);
    node.add_output(to);
  };
  const auto value = [](onnx::ValueInfoProto& info, const char* name, int type, std::int64_t last) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape()->add_dim()->set_dim_value(1);
    tensor.mutable_shape()->add_dim()->set_dim_value(last);
  };
  convert("QuantizeLinear", "x", "x_q");
  value(*graph.add_value_info(), "x_q", onnx::TensorProto::UINT8, 3);
  value(*graph.add_value_info(), "y_q", onnx::TensorProto::UINT8, 4);
  auto& main = support::add_node(model, "first", "m_qnn.bin");
  main.add_input("x_q");
  main.add_output("y_q");
  set_text(main, "partition_name", "first");
  set_text(main, "ep_sdk_version", "v2.51.0.1");
  set_text(main, "io_name_overrides", "x_q=x;y_q=y;");
  set_number(main, "max_size", 4096);
  convert("DequantizeLinear", "y_q", "y");
  auto& follower = *graph.add_node();
  follower.set_op_type("EPContext");
  follower.set_name("second");
  set_number(follower, "main_context", 0);
  set_number(follower, "embed_mode", 0);
  set_text(follower, "source", "QNN");
  follower.add_input("u");
  follower.add_output("v");
  value(*graph.add_input(), "u", onnx::TensorProto::FLOAT16, 5);
  value(*graph.add_output(), "v", onnx::TensorProto::FLOAT16, 6);
  auto& note = *model.add_metadata_props();
  note.set_key("ep_compatibility_info.QNNExecutionProvider");
  note.set_value(std::string(support::kOneTarget));
  return model;
}

class WrapCommand : public support::CommandTest {
 protected:
  void SetUp() override {
    write_text(path("m_qnn.bin"), kBinary);
    support::write_model(path("in_ctx.onnx"), converted_model());
    ASSERT_EQ(run_and_keep({"pack", "-o", path("m.fatctx"), "--name", "m", "--ep-context", path("in_ctx.onnx"),
                            "--quant", "activation_type=uint8"}),
              ExitCode::kOk)
        << err_;
  }

  ExitCode wrap(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"wrap", path("m.fatctx")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_and_keep(arguments);
  }
  ExitCode verify(const std::string& model) {
    return run_and_keep({"verify", path("m.fatctx"), "--onnx", path(model)});
  }
  // Writes a second model that equals the output of wrap except for one change.
  template <typename Change>
  void change(const Change& change) {
    onnx::ModelProto model = converted_model();
    change(model);
    support::write_model(path("changed_ctx.onnx"), model);
  }
};

onnx::NodeProto& node_of(onnx::ModelProto& model, const std::string& name) {
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() == "EPContext" && node.name() == name) return node;
  }
  throw std::logic_error("no such node");
}

onnx::AttributeProto& attribute_of(onnx::ModelProto& model, const std::string& node, const std::string& name) {
  for (auto& attribute : *node_of(model, node).mutable_attribute()) {
    if (attribute.name() == name) return attribute;
  }
  throw std::logic_error("no such attribute");
}

TEST_F(WrapCommand, ARecordComesBackAsAModelThatSaysWhatTheFirstOneSaid) {
  ASSERT_EQ(wrap({"--device", "57", "-o", path("out_ctx.onnx")}), ExitCode::kOk) << err_;

  EXPECT_EQ(text("out_ctx_qnn.bin"), kBinary);
  const auto was = read_onnx(path("in_ctx.onnx"));
  const auto is = read_onnx(path("out_ctx.onnx"));
  ASSERT_TRUE(was.ok() && is.ok());
  ASSERT_EQ(is.value().ep_contexts.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const OnnxEpContext& before = was.value().ep_contexts[i];
    const OnnxEpContext& after = is.value().ep_contexts[i];
    EXPECT_EQ(after.name, before.name);
    EXPECT_EQ(after.partition_name, before.name);
    EXPECT_EQ(after.main_context, before.main_context);
    EXPECT_FALSE(after.embedded);
    EXPECT_EQ(after.source, "QNN");
    EXPECT_EQ(after.max_size, before.max_size);
    EXPECT_EQ(after.quantised, before.quantised);
    ASSERT_EQ(after.inputs.size(), 1U);
    EXPECT_EQ(after.inputs[0].name, before.inputs[0].name);
    EXPECT_EQ(after.inputs[0].dtype, before.inputs[0].dtype);
    EXPECT_EQ(after.outputs[0].shape, before.outputs[0].shape);
  }
  EXPECT_EQ(is.value().ep_contexts[0].sdk_version, "v2.51.0.1");
  EXPECT_EQ(is.value().ep_contexts[0].cache, "out_ctx_qnn.bin");
  EXPECT_EQ(is.value().metadata.at("ep_compatibility_info.QNNExecutionProvider"), support::kOneTarget);
  EXPECT_EQ(is.value().graph.inputs[0].name, "x");
  EXPECT_EQ(is.value().graph.inputs[0].dtype, "float32");

  EXPECT_EQ(verify("out_ctx.onnx"), ExitCode::kOk) << out_;
  EXPECT_EQ(verify("in_ctx.onnx"), ExitCode::kOk) << out_;
  EXPECT_THAT(out_, AllOf(HasSubstr("node \"first\" of QNN, m_qnn.bin: record \"m_qnn.bin\""),
                          HasSubstr("node \"second\" of QNN: record \"m_qnn.bin\"")));
}

TEST_F(WrapCommand, QuantisedInputsAndOutputsMayStay) {
  ASSERT_EQ(wrap({"m_qnn.bin", "--quantized-io", "-o", path("out_ctx.onnx")}), ExitCode::kOk) << err_;

  const auto model = read_onnx(path("out_ctx.onnx"));
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model.value().graph.inputs[0].dtype, "uint8");
  EXPECT_FALSE(model.value().operators.contains("QuantizeLinear"));
  EXPECT_EQ(verify("out_ctx.onnx"), ExitCode::kOk) << out_;
}

TEST_F(WrapCommand, EachGraphHasAModelOfItsOwnAroundOneBinary) {
  ASSERT_EQ(wrap({"#1", "--graph", "first", "--binary", "both.bin", "-o", path("a_ctx.onnx")}), ExitCode::kOk) << err_;
  EXPECT_THAT(out_, HasSubstr("written"));
  ASSERT_EQ(wrap({"#1", "--graph", "second", "--binary", "both.bin", "-o", path("b_ctx.onnx")}), ExitCode::kOk) << err_;
  EXPECT_THAT(out_, HasSubstr("was there"));

  const auto model = read_onnx(path("b_ctx.onnx"));
  ASSERT_TRUE(model.ok());
  ASSERT_EQ(model.value().ep_contexts.size(), 1U);
  EXPECT_EQ(model.value().ep_contexts[0].name, "second");
  EXPECT_TRUE(model.value().ep_contexts[0].main_context);
  EXPECT_EQ(model.value().ep_contexts[0].cache, "both.bin");
  EXPECT_EQ(verify("b_ctx.onnx"), ExitCode::kOk) << out_;

  EXPECT_EQ(wrap({"#1", "--graph", "third", "-o", path("c_ctx.onnx")}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("has no graph \"third\"; its graphs: first, second"));
}

TEST_F(WrapCommand, TheBinaryMayBeInsideTheModel) {
  ASSERT_EQ(wrap({"m_qnn.bin", "--embed", "-o", path("out_ctx.onnx")}), ExitCode::kOk) << err_;

  const auto model = read_onnx(path("out_ctx.onnx"));
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model.value().ep_contexts[0].payload, kBinary);
  EXPECT_FALSE(fs::exists(path("out_ctx_qnn.bin")));
  EXPECT_EQ(verify("out_ctx.onnx"), ExitCode::kOk) << out_;
}

TEST_F(WrapCommand, ANoteSaysThatALargeBinaryIsBetterBesideTheModel) {
  const auto noted = [this](std::uint64_t large_model, const std::string& option) {
    CLI::App app;
    Outcome outcome;
    add_wrap(app, outcome, large_model);
    // CLI11 takes the arguments from the last to the first.
    std::vector<std::string> arguments = {"--force",        option, path("out_ctx.onnx"), "-o", "m_qnn.bin",
                                          path("m.fatctx"), "wrap"};
    if (option.empty()) arguments.erase(arguments.begin() + 1);
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    app.parse(arguments);
    ::testing::internal::GetCapturedStdout();
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_TRUE(fs::exists(path("out_ctx.onnx"))) << said;
    return said.find(
               "note: a runtime holds embedded data several times in memory; a file beside the model is read once") !=
           std::string::npos;
  };
  const std::uint64_t size = kBinary.size();

  EXPECT_TRUE(noted(size - 1, "--embed"));
  EXPECT_FALSE(noted(size, "--embed"));
  EXPECT_FALSE(noted(size - 1, "")) << "the binary is beside the model";
  EXPECT_FALSE(noted(kLargeModel, "--embed"));
  EXPECT_EQ(kLargeModel, 1'073'741'824U);
  ASSERT_EQ(wrap({"m_qnn.bin", "--embed", "--force", "-o", path("out_ctx.onnx")}), ExitCode::kOk) << err_;
  EXPECT_THAT(err_, Not(HasSubstr("several times")));
}

TEST_F(WrapCommand, WhatIsThereStaysUnlessForced) {
  write_text(path("out_ctx.onnx"), "mine");
  EXPECT_EQ(wrap({"m_qnn.bin", "-o", path("out_ctx.onnx")}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("out_ctx.onnx already exists; pass --force to replace it"));
  EXPECT_EQ(text("out_ctx.onnx"), "mine");
  EXPECT_FALSE(fs::exists(path("out_ctx_qnn.bin")));

  fs::remove(path("out_ctx.onnx"));
  write_text(path("out_ctx_qnn.bin"), "mine too");
  EXPECT_EQ(wrap({"m_qnn.bin", "-o", path("out_ctx.onnx")}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("out_ctx_qnn.bin already exists"));
  EXPECT_EQ(text("out_ctx_qnn.bin"), "mine too");
  EXPECT_FALSE(fs::exists(path("out_ctx.onnx")));

  EXPECT_EQ(wrap({"m_qnn.bin", "--force", "-o", path("out_ctx.onnx")}), ExitCode::kOk) << err_;
  EXPECT_EQ(text("out_ctx_qnn.bin"), kBinary);
  EXPECT_EQ(verify("out_ctx.onnx"), ExitCode::kOk) << out_;
}

TEST_F(WrapCommand, ABinaryWithoutItsModelGoesAgain) {
  fs::create_directory(path("out_ctx.onnx"));  // cannot be replaced by a file

  EXPECT_NE(wrap({"m_qnn.bin", "--force", "-o", path("out_ctx.onnx")}), ExitCode::kOk);

  EXPECT_FALSE(fs::exists(path("out_ctx_qnn.bin")));
}

TEST_F(WrapCommand, NothingIsWrittenOutsideOfTheModelsFolderOrOverTheContainer) {
  fs::create_directory(path("sub"));
  fs::create_directory(path("other"));
  fs::create_directory_symlink(path("other"), path("sub/link"));
  for (const char* name : {"../x.bin", "/x.bin", "link/x.bin", "no/such/x.bin"}) {
    EXPECT_EQ(wrap({"m_qnn.bin", "--binary", name, "-o", path("sub/out_ctx.onnx")}), ExitCode::kUsage) << name;
  }
  EXPECT_TRUE(fs::is_empty(path("other")));
  EXPECT_EQ(wrap({"m_qnn.bin", "--force", "-o", path("m.fatctx")}), ExitCode::kUsage);
  EXPECT_EQ(wrap({"m_qnn.bin", "--force", "--binary", "m.fatctx", "-o", path("o.onnx")}), ExitCode::kUsage);
  EXPECT_EQ(wrap({"m_qnn.bin", "--force", "--binary", "o.onnx", "-o", path("o.onnx")}), ExitCode::kUsage);
  EXPECT_EQ(run_and_keep({"verify", path("m.fatctx")}), ExitCode::kOk);

  fs::create_directory(path("sub/deep"));
  EXPECT_EQ(wrap({"m_qnn.bin", "--binary", "deep/x.bin", "-o", path("sub/out_ctx.onnx")}), ExitCode::kOk) << err_;
  EXPECT_EQ(text("sub/deep/x.bin"), kBinary);
  EXPECT_EQ(verify("sub/out_ctx.onnx"), ExitCode::kOk) << out_;
}

TEST_F(WrapCommand, WhatAModelSaysOtherwiseThanTheContainerIsFound) {
  struct Lie {
    const char* said;
    void (*change)(onnx::ModelProto& model);
  };
  const Lie lies[] = {
      {"names \"gone.bin\", which does not exist",
       [](auto& m) { attribute_of(m, "first", "ep_cache_context").set_s("gone.bin"); }},
      {"names \"../m_qnn.bin\"; only a file in or below",
       [](auto& m) { attribute_of(m, "first", "ep_cache_context").set_s("../m_qnn.bin"); }},
      {"names no file, and embed_mode is 0", [](auto& m) { attribute_of(m, "first", "ep_cache_context").set_s(""); }},
      {"record \"m_qnn.bin\" has no graph \"third\"; its graphs: first, second",
       [](auto& m) { attribute_of(m, "first", "partition_name").set_s("third"); }},
      {"record \"m_qnn.bin\" has no graph \"2nd\"", [](auto& m) { node_of(m, "second").set_name("2nd"); }},
      {"its input \"x_q\" is none of record \"m_qnn.bin\"",
       [](auto& m) { attribute_of(m, "first", "io_name_overrides").set_s("y_q=y"); }},
      {"lacks the input \"x\" of record", [](auto& m) { node_of(m, "first").clear_input(); }},
      {"its input \"u\" is float32[1,5], in record \"m_qnn.bin\" float16[1,5]",
       [](auto& m) {
         m.mutable_graph()->mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(
             onnx::TensorProto::FLOAT);
       }},
      {"its output \"v\" is float16[1,7], in record \"m_qnn.bin\" float16[1,6]",
       [](auto& m) {
         m.mutable_graph()
             ->mutable_output(1)
             ->mutable_type()
             ->mutable_tensor_type()
             ->mutable_shape()
             ->mutable_dim(1)
             ->set_dim_value(7);
       }},
      {"no node has main_context=1", [](auto& m) { set_number(node_of(m, "first"), "main_context", 0); }},
      {"its payload has 9 bytes, and no context binary has that many (36)",
       [](auto& m) {
         attribute_of(m, "first", "embed_mode").set_i(1);
         attribute_of(m, "first", "ep_cache_context").set_s("nine byte");
       }},
  };
  for (const Lie& lie : lies) {
    change(lie.change);
    EXPECT_EQ(verify("changed_ctx.onnx"), ExitCode::kFile) << lie.said;
    EXPECT_THAT(out_, HasSubstr(lie.said));
  }
}

TEST_F(WrapCommand, ABinaryThatIsNotTheRecordsIsFound) {
  std::string wrong = kBinary;
  wrong[20] = '!';
  write_text(path("m_qnn.bin"), wrong);
  EXPECT_EQ(verify("in_ctx.onnx"), ExitCode::kFile);
  EXPECT_THAT(out_, HasSubstr("\"m_qnn.bin\" is none of the context binaries; \"m_qnn.bin\" has as many bytes (36) and "
                              "differs at byte 0x14"));
  EXPECT_THAT(out_, HasSubstr("1 finding"));

  write_text(path("m_qnn.bin"), kBinary + "?");
  EXPECT_EQ(verify("in_ctx.onnx"), ExitCode::kFile);
  EXPECT_THAT(out_, HasSubstr("\"m_qnn.bin\" has 37 bytes, and no context binary has that many (36)"));
}

TEST_F(WrapCommand, ABinaryBehindALinkOutOfTheFolderIsFound) {
  fs::create_directory(path("elsewhere"));
  fs::rename(path("m_qnn.bin"), path("elsewhere/real.bin"));
  fs::create_directory(path("models"));
  fs::rename(path("in_ctx.onnx"), path("models/in_ctx.onnx"));
  fs::create_symlink(path("elsewhere/real.bin"), path("models/m_qnn.bin"));
  EXPECT_EQ(verify("models/in_ctx.onnx"), ExitCode::kFile);
  EXPECT_THAT(out_, HasSubstr("a link out of the model's folder"));
}

TEST_F(WrapCommand, ADamagedRecordIsFoundWhileItIsCompared) {
  auto bytes = support::read_file(path("m.fatctx"));
  const auto found = std::search(bytes.begin(), bytes.end(), kBinary.begin(), kBinary.end(),
                                 [](std::byte a, char b) { return a == static_cast<std::byte>(b); });
  ASSERT_NE(found, bytes.end());
  *found = std::byte{'A'};
  support::write_file(path("m.fatctx"), bytes);

  EXPECT_EQ(verify("in_ctx.onnx"), ExitCode::kFile);
  EXPECT_THAT(out_, HasSubstr("damaged"));
}

TEST_F(WrapCommand, AModelWithoutEpContextNodesRefersToNothing) {
  support::write_model(path("plain.onnx"), support::tiny_model());
  EXPECT_EQ(verify("plain.onnx"), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("no EPContext node in it"));
  EXPECT_EQ(run_and_keep({"verify", path("m.fatctx"), "--onnx", path("in_ctx.onnx"), "--strict"}), ExitCode::kUsage);
}

TEST_F(WrapCommand, WhatNothingDescribesHasToBeSaid) {
  write_text(path("raw.bin"), "raw");
  ASSERT_EQ(run_and_keep({"pack", "-o", path("raw.fatctx"), "--name", "raw", "--binary",
                          path("raw.bin") + "@htp:v75,soc=57,name=raw", "--quant", "activation_type=uint8"}),
            ExitCode::kOk)
      << err_;
  const auto wrap_raw = [this](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"wrap", path("raw.fatctx"), "raw", "-o", path("raw_ctx.onnx"), "--force"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_and_keep(arguments);
  };
  EXPECT_EQ(wrap_raw({}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("say it with --qnn-json FILE, or with --graph-input and --graph-output"));

  EXPECT_EQ(wrap_raw({"--graph", "g", "--graph-input", "in:0:uint8[1,3],scale=0.5,zero_point=7", "--graph-output",
                      "y:float32[]"}),
            ExitCode::kOk)
      << err_;
  const auto model = read_onnx(path("raw_ctx.onnx"));
  ASSERT_TRUE(model.ok());
  ASSERT_EQ(model.value().ep_contexts.size(), 1U);
  EXPECT_EQ(model.value().ep_contexts[0].name, "g");
  EXPECT_EQ(model.value().ep_contexts[0].source, "QNNExecutionProvider");
  EXPECT_EQ(model.value().ep_contexts[0].quantised.at("in:0"), (TensorQuantisation{0.5, 7, "in:0_dq"}));

  for (const char* bad : {"x", "x:float32", "x:float33[1]", ":float32[1]", "x:float32[1,]", "x:float32[-2]",
                          "x:float32[1]scale=1", "x:float32[1],scale=1", "x:uint8[1],scale=0",
                          "x:uint8[1],scale=1,zero_point=256", "x:uint8[1],zero_point=1", "x:int4[1]"}) {
    EXPECT_EQ(wrap_raw({"--graph-output", bad}), ExitCode::kUsage) << bad;
  }
  EXPECT_EQ(wrap_raw({"--graph-input", "x:uint8[1]"}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("at least one output"));
}

TEST_F(WrapCommand, JsonOfAnotherBinaryIsRefused) {
  write_text(path("net.json"), R"({"info": {"buildId": "v2.51.0.9", "graphs": [{"info": {"graphName": "other",
    "graphInputs": [], "graphOutputs": [{"info": {"name": "y", "dataType": "QNN_DATATYPE_FLOAT_32", "dimensions": [1]}}]}}]}})");
  EXPECT_EQ(wrap({"m_qnn.bin", "--qnn-json", path("net.json"), "-o", path("out_ctx.onnx")}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("record \"m_qnn.bin\" has no graph \"other\"; its graphs: first, second"));
}

// Models with nodes of our own provider: they name the container itself, and units in it.
class OwnNodes : public support::CommandTest {
 protected:
  void SetUp() override {
    write_text(path("g.bin"), "graph without weights");
    for (const char* name : {"m.fatctx", "same.fatctx"}) pack(name, "decode");
    pack("other.fatctx", "prefill");
  }
  void pack(const std::string& name, const std::string& unit) {
    ASSERT_EQ(run_and_keep({"pack", "-o", path(name), "--name", "m", "--binary",
                            path("g.bin") + "@ort-cpu:x86-64-v3,name=r,unit=" + unit}),
              ExitCode::kOk)
        << err_;
  }
  struct Stated {  // attributes of our own; empty: left out
    std::string group = {};
    std::string digest = {};
  };
  ExitCode verify(const std::string& container, const std::string& unit, int embedded = 0) {
    return verify(container, unit, embedded, {});
  }
  ExitCode verify(const std::string& container, const std::string& unit, int embedded, const Stated& stated) {
    onnx::ModelProto model = support::fixed_model();
    model.mutable_graph()->clear_node();
    auto& node = *model.mutable_graph()->add_node();
    node.set_op_type("EPContext");
    node.set_name("n");
    set_number(node, "embed_mode", embedded);
    set_text(node, "ep_cache_context", embedded != 0 ? text(container) : container);
    set_text(node, "source", "fatctx");
    if (!unit.empty()) set_text(node, "partition_name", unit);
    if (!stated.group.empty()) set_text(node, "fatctx_group", stated.group);
    if (!stated.digest.empty()) set_text(node, "fatctx_digest", stated.digest);
    support::write_model(path("m_ctx.onnx"), model);
    return run_and_keep({"verify", path("m.fatctx"), "--onnx", path("m_ctx.onnx")});
  }
};

TEST_F(OwnNodes, NameThisContainerAndAUnitInIt) {
  EXPECT_EQ(verify("m.fatctx", "decode"), ExitCode::kOk) << out_ << err_;
  EXPECT_THAT(out_, HasSubstr("node \"n\" of fatctx, m.fatctx: record \"r\""));
  EXPECT_EQ(verify("same.fatctx", "decode"), ExitCode::kOk) << out_;

  EXPECT_EQ(verify("m.fatctx", "prefill"), ExitCode::kFile);
  EXPECT_THAT(out_, HasSubstr("\"prefill\" is not a unit of the container; its units: decode"));
  EXPECT_EQ(verify("other.fatctx", "decode"), ExitCode::kFile);
  EXPECT_THAT(out_, HasSubstr("names \"other.fatctx\", which is another container"));
  EXPECT_EQ(verify("gone.fatctx", "decode"), ExitCode::kFile);
  EXPECT_THAT(out_, HasSubstr("which does not exist"));
  EXPECT_EQ(verify("g.bin", "decode"), ExitCode::kFile);
  EXPECT_THAT(out_, HasSubstr("names \"g.bin\", which is not a container"));
  EXPECT_EQ(verify("m.fatctx", ""), ExitCode::kOk) << out_;  // the only unit
}

TEST_F(OwnNodes, CarryThisContainerOrNameIt) {
  EXPECT_EQ(verify("m.fatctx", "decode", 1), ExitCode::kOk) << out_ << err_;
  EXPECT_EQ(verify("other.fatctx", "decode", 1), ExitCode::kFile);
  EXPECT_THAT(out_, HasSubstr("carries another container"));
  EXPECT_EQ(verify("g.bin", "decode", 1), ExitCode::kFile);
  EXPECT_THAT(out_, HasSubstr("carries no container"));
}

TEST_F(OwnNodes, WereWrittenForThisCompilation) {
  const auto digest_in = [&](const std::string& name, const std::string& record) {
    const auto container = Container::open(path(name));
    EXPECT_TRUE(container.ok());
    const auto hash = content_hash_with_weights(container.value(), container.value().find(record).value());
    return to_hex(hash.value().bytes);
  };
  const std::string digest = digest_in("m.fatctx", "r");
  EXPECT_EQ(verify("m.fatctx", "decode", 0, {.digest = digest}), ExitCode::kOk) << out_;

  // The model was compiled again, and the new context model is not next to the container.
  write_text(path("g.bin"), "another graph");
  ASSERT_EQ(run_and_keep({"pack", "-o", path("m.fatctx"), "--force", "--name", "m", "--binary",
                          path("g.bin") + "@ort-cpu:x86-64-v3,name=r,unit=decode"}),
            ExitCode::kOk);
  EXPECT_EQ(verify("m.fatctx", "decode", 0, {.digest = digest}), ExitCode::kFile);
  EXPECT_THAT(out_, HasSubstr("m_ctx.onnx: node \"n\": its fatctx_digest is " + digest + ", and graph \"decode\" of " +
                              path("m.fatctx") + " has " + digest_in("m.fatctx", "r")));
  EXPECT_THAT(out_, HasSubstr("Put back the container that belongs to the model, or compile the model again"));
  EXPECT_EQ(verify("m.fatctx", "decode"), ExitCode::kOk) << "nothing is stated";
}

TEST_F(OwnNodes, OneOfSeveralRecordsOfAUnitHasTheDigest) {
  write_text(path("h.bin"), "for a newer ONNX Runtime");
  ASSERT_EQ(run_and_keep({"append", path("m.fatctx"), "--binary",
                          path("h.bin") + "@ort-cpu:x86-64-v3,sdk=1.99,name=newer,unit=decode"}),
            ExitCode::kOk)
      << err_;
  const auto container = Container::open(path("m.fatctx"));
  ASSERT_TRUE(container.ok());
  const auto hash = content_hash_with_weights(container.value(), container.value().find("newer").value());
  EXPECT_EQ(verify("m.fatctx", "decode", 0, {.digest = to_hex(hash.value().bytes)}), ExitCode::kOk) << out_;
  EXPECT_THAT(out_, HasSubstr("record \"newer\""));
}

TEST_F(OwnNodes, MeanTheirGroup) {
  ASSERT_EQ(run_and_keep({"pack", "-o", path("m.fatctx"), "--force", "--name", "m", "--binary",
                          path("g.bin") + "@ort-cpu:x86-64-v3,name=r,unit=decode,group=llm"}),
            ExitCode::kOk);
  EXPECT_EQ(verify("m.fatctx", "decode", 0, {.group = "llm"}), ExitCode::kOk) << out_;
  EXPECT_EQ(verify("m.fatctx", "decode", 0, {.group = "tts"}), ExitCode::kFile);
  EXPECT_THAT(out_, HasSubstr("m_ctx.onnx: node \"n\": its fatctx_group is \"tts\", and " + path("m.fatctx") +
                              " has no context binary for \"ort-cpu\" in that group, only in: \"llm\""));
  EXPECT_THAT(out_, HasSubstr("Put back the container"));
}

TEST_F(OwnNodes, AContainerWithoutSuchRecordsHasNone) {
  write_text(path("h.bin"), "for the NPU");
  ASSERT_EQ(run_and_keep({"pack", "-o", path("m.fatctx"), "--force", "--name", "m", "--binary",
                          path("h.bin") + "@htp:v75,name=r,unit=decode"}),
            ExitCode::kOk);
  EXPECT_EQ(verify("m.fatctx", "decode"), ExitCode::kFile);
  EXPECT_THAT(out_, HasSubstr("no context binary for \"ort-cpu\""));
}

// Models as QNN's provider writes them if it shares weights: one binary, and a model for each of its graphs.
class SharedBinary : public support::CommandTest {
 protected:
  void SetUp() override {
    write_text(path("shared_qnn.bin"), "graphs that share weights");
    for (const std::string graph : {"prefill", "decode"}) {
      onnx::ModelProto model = support::context_model("shared_qnn.bin");
      onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
      set_text(node, "partition_name", graph);
      node.add_input("x");
      node.add_output("y");
      support::write_model(path(graph + "_ctx.onnx"), model);
    }
  }
  ExitCode pack(const std::vector<std::string>& words) {
    std::vector<std::string> command = {"pack", "-o", path("m.fatctx"), "--name", "m", "--allow-dynamic"};
    for (const std::string& word : words) command.insert(command.end(), {"--ep-context", path(word)});
    return run_and_keep(command);
  }
};

TEST_F(SharedBinary, OfTwoModelsIsOneRecordWithTheGraphsOfBoth) {
  ASSERT_EQ(pack({"prefill_ctx.onnx", "decode_ctx.onnx"}), ExitCode::kOk) << err_;
  const auto container = Container::open(path("m.fatctx"));
  ASSERT_TRUE(container.ok());
  const auto record = container.value().find("shared_qnn.bin");
  ASSERT_TRUE(record.ok());
  const auto description = container.value().describe();
  std::vector<std::string> graphs;
  for (const auto& graph : description.value().find(record.value().id)->graphs) graphs.push_back(graph.name);
  EXPECT_EQ(graphs, (std::vector<std::string>{"prefill", "decode"}));
  for (const char* model : {"prefill_ctx.onnx", "decode_ctx.onnx"}) {
    EXPECT_EQ(run_and_keep({"verify", path("m.fatctx"), "--onnx", path(model)}), ExitCode::kOk) << out_;
  }
}

TEST_F(SharedBinary, IsForOneTargetWhicheverModelSaysSo) {
  onnx::ModelProto model = support::context_model("shared_qnn.bin", "v2:6:2.51.0:5.51.0:0:60:0:0");
  set_text(*model.mutable_graph()->mutable_node(0), "partition_name", "other");
  support::write_model(path("other_ctx.onnx"), model);
  onnx::ModelProto first = support::context_model("shared_qnn.bin", "v2:6:2.51.0:5.51.0:0:57:0:0");
  set_text(*first.mutable_graph()->mutable_node(0), "partition_name", "first");
  support::write_model(path("first_ctx.onnx"), first);

  EXPECT_EQ(pack({"first_ctx.onnx", "other_ctx.onnx"}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("first_ctx.onnx"));
  EXPECT_THAT(err_, HasSubstr("shared_qnn.bin and say that its SoC is 57, and 60: compile them for one target"));
  EXPECT_EQ(pack({"prefill_ctx.onnx", "first_ctx.onnx"}), ExitCode::kOk) << err_;
}

TEST_F(SharedBinary, UnderTwoNamesIsTwoRecords) {
  ASSERT_EQ(pack({"prefill_ctx.onnx,name=a,unit=prefill", "decode_ctx.onnx,name=b,unit=decode"}), ExitCode::kOk)
      << err_;
  const auto container = Container::open(path("m.fatctx"));
  ASSERT_TRUE(container.ok());
  EXPECT_TRUE(container.value().find("a").ok() && container.value().find("b").ok());
}

TEST_F(OwnNodes, AreInAContainerAlready) {
  EXPECT_EQ(verify("m.fatctx", "decode"), ExitCode::kOk);
  EXPECT_EQ(run_and_keep({"pack", "-o", path("n.fatctx"), "--name", "n", "--ep-context", path("m_ctx.onnx")}),
            ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("which has written a container already; give that to `fatctx append` or `fatctx merge`"));
}

}  // namespace wrap_command_test
}  // namespace fatctx::tools
