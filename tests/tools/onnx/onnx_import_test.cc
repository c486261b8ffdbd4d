#include "tools/onnx/onnx_import.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "support/result_matchers.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace onnx_import_test {

using support::fails_with;
using support::is_ok;
using support::TempDir;

class OnnxImport : public ::testing::Test {
 protected:
  Result<OnnxModel> read(const onnx::ModelProto& model) const {
    support::write_model(folder_.file("m.onnx"), model);
    return read_onnx(folder_.file("m.onnx"));
  }

  TempDir folder_;
};

TEST_F(OnnxImport, InitializersKeepNameTypeAndShape) {
  const auto model = read(support::tiny_model());

  ASSERT_TRUE(is_ok(model));
  ASSERT_EQ(model.value().initializers.size(), 2U);
  EXPECT_EQ(model.value().initializers[0].name, "layer/w");
  EXPECT_EQ(model.value().initializers[0].dtype, DType::kF32);
  EXPECT_EQ(model.value().initializers[0].shape, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(model.value().initializers[1].dtype, DType::kI8);
}

TEST_F(OnnxImport, InputsAndOutputsHaveMinusOneForWhatIsNotFixed) {
  const auto model = read(support::tiny_model());

  ASSERT_TRUE(is_ok(model));
  const DescribedGraph& graph = model.value().graph;
  EXPECT_EQ(graph.name, "tiny");
  ASSERT_EQ(graph.inputs.size(), 1U);
  EXPECT_EQ(graph.inputs[0].name, "x");
  EXPECT_EQ(graph.inputs[0].dtype, "float32");
  EXPECT_EQ(graph.inputs[0].shape, (std::vector<std::int64_t>{-1, 3}));
  ASSERT_EQ(graph.outputs.size(), 1U);
  EXPECT_EQ(graph.outputs[0].shape, (std::vector<std::int64_t>{-1, 4}));
}

TEST_F(OnnxImport, AnInitializerThatIsAlsoListedAsInputIsNoInput) {
  auto proto = support::tiny_model();
  proto.mutable_graph()->add_input()->set_name("layer/w");

  const auto model = read(proto);

  ASSERT_TRUE(is_ok(model));
  EXPECT_EQ(model.value().graph.inputs.size(), 1U);
}

TEST_F(OnnxImport, EveryElementTypeOfTensorTablesIsKnownAndTheOthersAreNot) {
  const std::pair<int, std::optional<DType>> rows[] = {
      {1, DType::kF32},   {2, DType::kU8},   {3, DType::kI8},   {4, DType::kU16},   {5, DType::kI16},
      {6, DType::kI32},   {7, DType::kI64},  {8, std::nullopt}, {9, DType::kBool},  {10, DType::kF16},
      {11, DType::kF64},  {12, DType::kU32}, {13, DType::kU64}, {14, std::nullopt}, {16, DType::kBF16},
      {17, std::nullopt}, {21, DType::kU4},  {22, DType::kI4},  {99, std::nullopt},
  };
  for (const auto& [number, dtype] : rows) {
    auto proto = support::tiny_model();
    proto.mutable_graph()->mutable_initializer(0)->set_data_type(number);
    const auto model = read(proto);
    ASSERT_TRUE(is_ok(model));
    EXPECT_EQ(model.value().initializers[0].dtype, dtype) << number;
  }
}

// Returns a model that quantizes x as `activation`, with weights and a bias behind DequantizeLinear nodes.
onnx::ModelProto quantised_model(int activation, int weight) {
  onnx::ModelProto model = support::tiny_model();
  auto& graph = *model.mutable_graph();
  const auto add_scalar = [&graph](const char* name, int type) {
    auto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
  };
  add_scalar("scale", onnx::TensorProto::FLOAT);
  add_scalar("x/zero", activation);
  add_scalar("w", weight);
  add_scalar("w/zero", weight);
  add_scalar("b", onnx::TensorProto::INT32);
  add_scalar("b/zero", onnx::TensorProto::INT32);
  const auto add_node = [&graph](const char* type, const char* value, const char* zero, const char* output) {
    auto& node = *graph.add_node();
    node.set_op_type(type);
    node.add_input(value);
    node.add_input("scale");
    node.add_input(zero);
    node.add_output(output);
  };
  add_node("QuantizeLinear", "x", "x/zero", "x/q");
  add_node("DequantizeLinear", "x/q", "x/zero", "x/dq");
  add_node("DequantizeLinear", "w", "w/zero", "w/dq");
  add_node("DequantizeLinear", "b", "b/zero", "b/dq");
  return model;
}

// Shows S3.28.
TEST_F(OnnxImport, OperatorsAreListedOnceWithTheirDomainAndThoseOfInnerGraphs) {
  onnx::ModelProto model = support::tiny_model();
  auto& gelu = *model.mutable_graph()->add_node();
  gelu.set_op_type("Gelu");
  gelu.set_domain("com.microsoft");
  model.mutable_graph()->add_node()->set_op_type("MatMul");
  auto& branch = *model.mutable_graph()->add_node();
  branch.set_op_type("If");
  auto& attribute = *branch.add_attribute();
  attribute.set_name("then_branch");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  attribute.mutable_g()->add_node()->set_op_type("Relu");
  auto& function = *model.add_functions();
  function.set_name("Own");
  function.add_node()->set_op_type("Softmax");

  const auto found = read(model);

  ASSERT_TRUE(is_ok(found));
  EXPECT_EQ(found.value().operators, (std::set<std::string>{"If", "MatMul", "Relu", "Softmax", "com.microsoft:Gelu"}));
}

// Shows S3.37.
TEST_F(OnnxImport, TypesOfAQdqModelAreThoseOfItsZeroPoints) {
  const auto found = read(quantised_model(onnx::TensorProto::UINT16, onnx::TensorProto::INT8));
  ASSERT_TRUE(is_ok(found));
  EXPECT_EQ(found.value().activation_types, (std::set<std::string>{"uint16"}));
  EXPECT_EQ(found.value().weight_types, (std::set<std::string>{"int8"}));

  const auto plain = read(support::tiny_model());
  ASSERT_TRUE(is_ok(plain));
  EXPECT_TRUE(plain.value().activation_types.empty());
  EXPECT_TRUE(plain.value().weight_types.empty());
}

TEST_F(OnnxImport, ATypeThatIsNotStatedLeavesAllOpen) {
  onnx::ModelProto model = quantised_model(onnx::TensorProto::UINT8, onnx::TensorProto::UINT8);
  model.mutable_graph()->mutable_node(1)->set_input(2, "computed");
  const auto found = read(model);
  ASSERT_TRUE(is_ok(found));
  EXPECT_TRUE(found.value().activation_types.empty());
  EXPECT_TRUE(found.value().weight_types.empty());
}

TEST_F(OnnxImport, WithoutAZeroPointTheTypeIsTheAttributesOrUint8) {
  onnx::ModelProto model = quantised_model(onnx::TensorProto::UINT16, onnx::TensorProto::INT8);
  auto& node = *model.mutable_graph()->mutable_node(1);
  node.mutable_input()->RemoveLast();
  model.mutable_graph()->mutable_node(2)->mutable_input()->RemoveLast();
  auto found = read(model);
  ASSERT_TRUE(is_ok(found));
  EXPECT_EQ(found.value().activation_types, (std::set<std::string>{"uint8"}));
  auto& attribute = *node.add_attribute();
  attribute.set_name("output_dtype");
  attribute.set_i(onnx::TensorProto::INT16);
  found = read(model);
  ASSERT_TRUE(is_ok(found));
  EXPECT_EQ(found.value().activation_types, (std::set<std::string>{"int16"}));
}

TEST_F(OnnxImport, FilesOfExternalDataAreListedOnce) {
  auto proto = support::tiny_model();
  for (int i = 0; i < 2; ++i) {
    auto& entry = *proto.mutable_graph()->mutable_initializer(i)->add_external_data();
    entry.set_key("location");
    entry.set_value("weights.bin");
  }

  const auto model = read(proto);

  ASSERT_TRUE(is_ok(model));
  EXPECT_EQ(model.value().external_files, (std::vector<std::string>{"weights.bin"}));
}

TEST_F(OnnxImport, WhatIsNoModelIsRefusedByName) {
  support::write_text(folder_.file("text.onnx"), "this is not a model");
  support::write_text(folder_.file("empty.onnx"), "");

  EXPECT_TRUE(fails_with(read_onnx(folder_.file("text.onnx")), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(read_onnx(folder_.file("empty.onnx")), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(read_onnx(folder_.file("none.onnx")), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(read_onnx(folder_.path()), ErrorCode::kNotRegularFile));
}

TEST_F(OnnxImport, ANegativeDimensionIsRefused) {
  auto proto = support::tiny_model();
  proto.mutable_graph()->mutable_initializer(0)->set_dims(0, -3);

  EXPECT_TRUE(fails_with(read(proto), ErrorCode::kMalformed));
}

PackTensor bytes_tensor(const std::string& name, std::uint64_t size) {
  return {.name = name, .dtype = DType::kU8, .shape = {size}, .offset_in_blob = 0, .size_bytes = size, .alias = false};
}

TEST_F(OnnxImport, TensorsGetTheTypeAndShapeOfTheirInitializer) {
  const auto model = read(support::tiny_model());
  std::vector<PackTensor> tensors = {bytes_tensor("bias", 5), bytes_tensor("unknown", 7), bytes_tensor("layer/w", 48)};

  const auto unshaped = give_shapes(model.value(), "m.onnx", tensors);

  ASSERT_TRUE(is_ok(unshaped));
  EXPECT_EQ(unshaped.value(), 1U);
  EXPECT_EQ(tensors[0].dtype, DType::kI8);
  EXPECT_EQ(tensors[1].dtype, DType::kU8);
  EXPECT_EQ(tensors[1].shape, (std::vector<std::uint64_t>{7}));
  EXPECT_EQ(tensors[2].dtype, DType::kF32);
  EXPECT_EQ(tensors[2].shape, (std::vector<std::uint64_t>{3, 4}));
}

TEST_F(OnnxImport, AnotherSizeIsAnErrorThatNamesTheTensorAndBothSizes) {
  const auto model = read(support::tiny_model());
  std::vector<PackTensor> tensors = {bytes_tensor("layer/w", 47)};

  const auto unshaped = give_shapes(model.value(), "m.onnx", tensors);

  ASSERT_TRUE(fails_with(unshaped, ErrorCode::kInvalidArgument));
  const std::string& message = unshaped.error().message;
  for (const char* part : {"\"layer/w\"", "47", "48", "float32 [3, 4]", "m.onnx"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
}

}  // namespace onnx_import_test
}  // namespace fatctx::tools
