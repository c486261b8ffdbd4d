// Models that are written again with fixed sizes, and with names for the weights in Constant nodes.
#include "tools/onnx/onnx_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/result_matchers.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace onnx_shapes_test {

using support::fails_with;
using support::is_ok;
using support::TempDir;
using ::testing::HasSubstr;

void add_dim(onnx::ValueInfoProto& value, const char* name) {
  value.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param(name);
}

onnx::ValueInfoProto tensor(const char* name) {
  onnx::ValueInfoProto value;
  value.set_name(name);
  value.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  value.mutable_type()->mutable_tensor_type()->mutable_shape();
  return value;
}

class OnnxShapes : public ::testing::Test {
 protected:
  // Writes `model` with these shapes and returns the result.
  onnx::ModelProto written(const onnx::ModelProto& model, const InputShapes& shapes) const {
    support::write_model(folder_.file("m.onnx"), model);
    EXPECT_TRUE(is_ok(write_onnx_with_shapes(folder_.file("m.onnx"), shapes, folder_.file("out.onnx"))));
    return parsed("out.onnx");
  }
  [[nodiscard]] onnx::ModelProto parsed(const std::string& name) const {
    std::ifstream in(folder_.file(name), std::ios::binary);
    onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromIstream(&in));
    return model;
  }
  // Returns what check_input_shapes() says about `shapes` of the tiny model.
  [[nodiscard]] Status check(const InputShapes& shapes) const {
    support::write_model(folder_.file("m.onnx"), support::tiny_model());
    return check_input_shapes(read_onnx(folder_.file("m.onnx")).value().graph, shapes);
  }

  TempDir folder_;
};

const onnx::TensorShapeProto& shape_of(const onnx::ValueInfoProto& value) { return value.type().tensor_type().shape(); }

TEST_F(OnnxShapes, ASizeWithANameIsFixedWhereverTheModelUsesIt) {
  auto model = support::tiny_model();
  auto& mask = *model.mutable_graph()->add_input();
  mask = tensor("mask");
  add_dim(mask, "batch");
  add_dim(mask, "other");

  const auto out = written(model, {{.name = "x", .sizes = {7, 3}}});

  EXPECT_EQ(shape_of(out.graph().input(0)).dim(0).dim_value(), 7);
  EXPECT_EQ(shape_of(out.graph().input(0)).dim(1).dim_value(), 3);
  EXPECT_EQ(shape_of(out.graph().output(0)).dim(0).dim_value(), 7);
  EXPECT_EQ(shape_of(out.graph().input(1)).dim(0).dim_value(), 7);
  EXPECT_EQ(shape_of(out.graph().input(1)).dim(1).dim_param(), "other") << "nothing says how large it is";
  EXPECT_EQ(out.graph().initializer(0).raw_data(), model.graph().initializer(0).raw_data());
}

TEST_F(OnnxShapes, ANameThatTwoShapesContradictIsNotFixedElsewhere) {
  auto model = support::tiny_model();
  auto& mask = *model.mutable_graph()->add_input();
  mask = tensor("mask");
  add_dim(mask, "batch");

  const auto out = written(model, {{.name = "x", .sizes = {7, 3}}, {.name = "mask", .sizes = {8}}});

  EXPECT_EQ(shape_of(out.graph().input(0)).dim(0).dim_value(), 7);
  EXPECT_EQ(shape_of(out.graph().input(1)).dim(0).dim_value(), 8);
  EXPECT_EQ(shape_of(out.graph().output(0)).dim(0).dim_param(), "batch");
}

TEST_F(OnnxShapes, AQuestionMarkIsNoName) {
  auto model = support::tiny_model();
  auto& input = *model.mutable_graph()->mutable_input(0);
  input.mutable_type()->mutable_tensor_type()->clear_shape();
  add_dim(input, "?");
  auto& output = *model.mutable_graph()->mutable_output(0);
  output.mutable_type()->mutable_tensor_type()->clear_shape();
  add_dim(output, "?");

  const auto out = written(model, {{.name = "x", .sizes = {5}}});

  EXPECT_EQ(shape_of(out.graph().input(0)).dim(0).dim_value(), 5);
  EXPECT_FALSE(shape_of(out.graph().output(0)).dim(0).has_dim_value());
}

TEST_F(OnnxShapes, InnerShapesAreForgottenUnlessOnlyTheModelKnowsThem) {
  auto model = support::tiny_model();
  auto& graph = *model.mutable_graph();
  auto& own = *graph.add_node();
  own.set_op_type("Mystery");
  own.set_domain("com.example");
  own.add_input("y");
  own.add_output("of_mystery");
  graph.mutable_node(0)->add_output("inner");
  for (const char* name : {"inner", "of_mystery"}) {
    auto& value = *graph.add_value_info();
    value = tensor(name);
    add_dim(value, "batch");
    value.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(224);
  }

  const auto out = written(model, {{.name = "x", .sizes = {2, 3}}});

  EXPECT_FALSE(out.graph().value_info(0).type().tensor_type().has_shape());
  EXPECT_EQ(out.graph().value_info(0).type().tensor_type().elem_type(), onnx::TensorProto::FLOAT);
  ASSERT_EQ(shape_of(out.graph().value_info(1)).dim_size(), 2);
  EXPECT_EQ(shape_of(out.graph().value_info(1)).dim(0).dim_value(), 2);
  EXPECT_EQ(shape_of(out.graph().value_info(1)).dim(1).dim_value(), 224);
}

TEST_F(OnnxShapes, ExternalDataStaysWhereItIs) {
  const auto out = written(support::external_model("weights.bin"), {{.name = "x", .sizes = {2, 3}}});

  EXPECT_EQ(out.graph().initializer(0).external_data(0).value(), "weights.bin");
}

TEST_F(OnnxShapes, AShapeThatTheModelDoesNotHaveIsRefused) {
  EXPECT_TRUE(is_ok(check({{.name = "x", .sizes = {9, 3}}})));

  const auto unknown = check({{.name = "X", .sizes = {9, 3}}});
  EXPECT_TRUE(fails_with(unknown, ErrorCode::kInvalidArgument));
  EXPECT_THAT(unknown.error().message, HasSubstr("no input \"X\"; did you mean x? inputs: x"));
  EXPECT_THAT(check({{.name = "x", .sizes = {9}}}).error().message, HasSubstr("has 2 sizes (?,3), and 1 are given"));
  EXPECT_THAT(check({{.name = "x", .sizes = {9, 4}}}).error().message,
              HasSubstr("x=9,4: size 2 is fixed in the model, whose shape is ?,3; write 3 there"));
}

TEST_F(OnnxShapes, LargeConstantsBecomeInitializersWithTheNameOfTheirOutput) {
  auto model = support::tiny_model();
  model.set_ir_version(3);
  for (const int size : {4, 100}) {
    auto& node = *model.mutable_graph()->add_node();
    node.set_op_type("Constant");
    node.add_output("weight_" + std::to_string(size));
    auto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    attribute.mutable_t()->set_data_type(onnx::TensorProto::INT8);
    attribute.mutable_t()->add_dims(size);
    attribute.mutable_t()->set_raw_data(std::string(static_cast<std::size_t>(size), 'c'));
  }
  support::write_model(folder_.file("m.onnx"), model);
  const auto read = read_onnx(folder_.file("m.onnx"));
  ASSERT_EQ(read.value().initializers.size(), 4U);
  EXPECT_FALSE(read.value().initializers[1].constant);
  EXPECT_TRUE(read.value().initializers[2].constant);

  ASSERT_TRUE(is_ok(write_onnx_with_named_constants(folder_.file("m.onnx"), 100, folder_.file("out.onnx"))));

  const auto out = parsed("out.onnx");
  ASSERT_EQ(out.graph().initializer_size(), 3);
  EXPECT_EQ(out.graph().initializer(2).name(), "weight_100");
  EXPECT_EQ(out.graph().node_size(), 2) << "the small one stays a node";
  EXPECT_GE(out.ir_version(), 4) << "before, initializers had to be inputs too";
}

}  // namespace onnx_shapes_test
}  // namespace fatctx::tools
