#include "tools/onnx/onnx_wrapper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/result_matchers.h"
#include "support/temp_dir.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace onnx_wrapper_test {

using support::fails_with;
using support::is_ok;
using support::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns two graphs with names of their own, without quantization.
WrapperModel two_graphs() {
  WrapperModel model;
  model.source = "QNNExecutionProvider";
  model.cache = "m_qnn.bin";
  model.graphs = {{.name = "prefill",
                   .inputs = {{.name = "tokens", .dtype = DType::kI32, .shape = {1, 128}}},
                   .outputs = {{.name = "logits", .dtype = DType::kF16, .shape = {1, 128, 7}}}},
                  {.name = "decode",
                   .inputs = {{.name = "token", .dtype = DType::kI32, .shape = {}}},
                   .outputs = {{.name = "logit", .dtype = DType::kF16, .shape = {1, -1}}}}};
  return model;
}

Result<OnnxModel> read_back(WrapperModel model) {
  const TempDir folder;
  FATCTX_ASSIGN(const std::string bytes, wrapper_bytes(std::move(model)));
  support::write_text(folder.file("m_ctx.onnx"), bytes);
  return read_onnx(folder.file("m_ctx.onnx"));
}

std::vector<std::string> names_of(const std::vector<DescribedTensor>& tensors) {
  std::vector<std::string> names;
  for (const DescribedTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

// Shows S3.65.
TEST(OnnxWrapper, EveryGraphIsANodeAndTheFirstHasTheBinary) {
  WrapperModel model = two_graphs();
  model.sdk_version = "v2.51.0";
  model.max_size = 77;
  model.metadata["ep_compatibility_info.QNNExecutionProvider"] = "v2:6";

  const auto read = read_back(std::move(model));

  ASSERT_TRUE(is_ok(read));
  ASSERT_EQ(read.value().ep_contexts.size(), 2U);
  const OnnxEpContext& first = read.value().ep_contexts[0];
  EXPECT_EQ(first.name, "prefill");
  EXPECT_EQ(first.partition_name, "prefill");
  EXPECT_EQ(first.source, "QNNExecutionProvider");
  EXPECT_EQ(first.cache, "m_qnn.bin");
  EXPECT_EQ(first.sdk_version, "v2.51.0");
  EXPECT_EQ(first.max_size, 77);
  EXPECT_TRUE(first.main_context);
  EXPECT_FALSE(first.embedded);
  const OnnxEpContext& second = read.value().ep_contexts[1];
  EXPECT_EQ(second.partition_name, "decode");
  EXPECT_EQ(second.cache, "");
  EXPECT_EQ(second.max_size, 0);
  EXPECT_FALSE(second.main_context);
  EXPECT_FALSE(second.embedded);
  EXPECT_EQ(read.value().metadata.at("ep_compatibility_info.QNNExecutionProvider"), "v2:6");
  ASSERT_THAT(names_of(read.value().graph.inputs), ElementsAre("tokens", "token"));
  EXPECT_THAT(names_of(read.value().graph.outputs), ElementsAre("logits", "logit"));
  EXPECT_EQ(read.value().graph.inputs[0].dtype, "int32");
  EXPECT_THAT(read.value().graph.inputs[0].shape, ElementsAre(1, 128));
  EXPECT_THAT(read.value().graph.inputs[1].shape, ElementsAre());
  EXPECT_THAT(read.value().graph.outputs[1].shape, ElementsAre(1, -1));
}

TEST(OnnxWrapper, TheSameModelGivesTheSameBytes) {
  const auto once = wrapper_bytes(two_graphs());
  const auto again = wrapper_bytes(two_graphs());
  ASSERT_TRUE(is_ok(once));
  ASSERT_TRUE(is_ok(again));
  EXPECT_EQ(once.value(), again.value());
}

TEST(OnnxWrapper, APayloadGoesIntoTheMainNode) {
  WrapperModel model = two_graphs();
  model.cache.clear();
  model.payload = std::string("opaque\0bytes", 12);

  const auto read = read_back(std::move(model));

  ASSERT_TRUE(is_ok(read));
  EXPECT_TRUE(read.value().ep_contexts[0].embedded);
  EXPECT_EQ(read.value().ep_contexts[0].payload, std::string("opaque\0bytes", 12));
  EXPECT_TRUE(read.value().ep_contexts[1].embedded);
  EXPECT_EQ(read.value().ep_contexts[1].payload, "");
}

TEST(OnnxWrapper, WhatIsQuantisedIsFloatOutside) {
  for (const DType dtype : {DType::kU8, DType::kI8, DType::kU16, DType::kI16}) {
    const std::int64_t zero_point = dtype == DType::kI8 || dtype == DType::kI16 ? -7 : 131;
    WrapperModel model = two_graphs();
    model.graphs.resize(1);
    model.graphs[0].inputs[0] = {.name = "x",
                                 .dtype = dtype,
                                 .shape = {1, 3},
                                 .quantisation = TensorQuantisation{.scale = 0.5, .zero_point = zero_point}};
    model.graphs[0].outputs[0] = {.name = "y",
                                  .dtype = dtype,
                                  .shape = {1, 4},
                                  .quantisation = TensorQuantisation{.scale = 0.25, .zero_point = 0}};

    const auto read = read_back(model);

    ASSERT_TRUE(is_ok(read)) << dtype_name(dtype);
    ASSERT_THAT(names_of(read.value().graph.inputs), ElementsAre("x_dq"));
    EXPECT_EQ(read.value().graph.inputs[0].dtype, "float32");
    EXPECT_THAT(names_of(read.value().graph.outputs), ElementsAre("y_dq"));
    const OnnxEpContext& node = read.value().ep_contexts[0];
    ASSERT_THAT(names_of(node.inputs), ElementsAre("x"));
    EXPECT_EQ(node.inputs[0].dtype, dtype_name(dtype));
    EXPECT_EQ(node.quantised.at("x"), (TensorQuantisation{0.5, zero_point, "x_dq"}));
    EXPECT_EQ(node.quantised.at("y"), (TensorQuantisation{0.25, 0, "y_dq"}));
    EXPECT_EQ(read.value().operators.contains("QuantizeLinear"), true);
  }
}

// The newer QNN provider writes such models if it left conversions to the CPU.
TEST(OnnxWrapper, AnOuterNameThatTheBinaryHasTooIsKept) {
  WrapperModel model = two_graphs();
  model.graphs.resize(1);
  model.graphs[0].inputs[0] = {.name = "in=put",
                               .dtype = DType::kU8,
                               .shape = {1, 3},
                               .quantisation = TensorQuantisation{.scale = 0.5, .zero_point = 3, .outside = "in=put"}};

  const auto read = read_back(model);

  ASSERT_TRUE(is_ok(read));
  EXPECT_THAT(names_of(read.value().graph.inputs), ElementsAre("in=put"));
  const OnnxEpContext& node = read.value().ep_contexts[0];
  EXPECT_THAT(names_of(node.inputs), ElementsAre("in=put"));
  EXPECT_EQ(node.quantised.at("in=put").outside, "in=put");
}

TEST(OnnxWrapper, GraphsThatTakeTheSameShareAnInput) {
  WrapperModel model = two_graphs();
  model.graphs[1].inputs = model.graphs[0].inputs;

  const auto read = read_back(model);

  ASSERT_TRUE(is_ok(read));
  EXPECT_THAT(names_of(read.value().graph.inputs), ElementsAre("tokens"));
}

TEST(OnnxWrapper, WhatOneModelCannotHoldIsRefused) {
  struct Mistake {
    const char* said;
    void (*make)(WrapperModel&);
  };
  const Mistake mistakes[] = {
      {"there is no graph", [](WrapperModel& m) { m.graphs.clear(); }},
      {"a graph without a name", [](WrapperModel& m) { m.graphs[1].name.clear(); }},
      {"graph \"prefill\" appears twice", [](WrapperModel& m) { m.graphs[1].name = "prefill"; }},
      {"graph \"decode\" has no outputs; an EPContext node has at least one",
       [](WrapperModel& m) { m.graphs[1].outputs.clear(); }},
      {"graphs \"prefill\" and \"decode\" both give \"logits\", and a model has each name once; "
       "write a model for each of them with --graph",
       [](WrapperModel& m) { m.graphs[1].outputs[0].name = "logits"; }},
      {"graph \"decode\" takes \"tokens\" with another type, shape or scale than a graph before it, and a model "
       "has each name once; write a model for each of them with --graph",
       [](WrapperModel& m) { m.graphs[1].inputs[0].name = "tokens"; }},
      {"graph \"prefill\" gives \"logits\" and graph \"decode\" takes it; in one model that would connect them; write "
       "a model for each of them with --graph",
       [](WrapperModel& m) { m.graphs[1].inputs[0].name = "logits"; }},
      {"graph \"prefill\" takes \"tokens\" twice",
       [](WrapperModel& m) { m.graphs[0].inputs.push_back(m.graphs[0].inputs[0]); }},
      {"gives \"logits\" twice", [](WrapperModel& m) { m.graphs[0].outputs.push_back(m.graphs[0].outputs[0]); }},
      {"tensor \"token\" is int4, which an EPContext node cannot take or give",
       [](WrapperModel& m) { m.graphs[1].inputs[0].dtype = DType::kI4; }},
      {"the name \"tokens_dq\", needed to convert its inputs and outputs to float32, is taken; "
       "keep them as they are with --quantized-io",
       [](WrapperModel& m) {
         m.graphs[1].inputs[0].name = "tokens_dq";
         m.graphs[0].inputs[0].dtype = DType::kU8;
         m.graphs[0].inputs[0].quantisation = TensorQuantisation{};
       }},
  };
  for (const Mistake& mistake : mistakes) {
    WrapperModel model = two_graphs();
    mistake.make(model);
    const auto bytes = wrapper_bytes(std::move(model));
    ASSERT_TRUE(fails_with(bytes, ErrorCode::kInvalidArgument)) << mistake.said;
    EXPECT_THAT(bytes.error().message, HasSubstr(mistake.said));
  }
}

TEST(OnnxWrapper, NothingAboveTheLimitOfAMessageIsEmbedded) {
  constexpr std::uint64_t kLimit = (std::uint64_t{1} << 31) - 1;
  EXPECT_TRUE(is_ok(check_embeddable(kLimit - 1)));
  const auto refused = check_embeddable(kLimit);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kLimitExceeded));
  EXPECT_THAT(refused.error().message,
              HasSubstr("a binary of 2147483647 bytes does not fit into an ONNX model, which has at most 2147483647; "
                        "write it as a file beside the model, without --embed"));
}

}  // namespace onnx_wrapper_test
}  // namespace fatctx::tools
