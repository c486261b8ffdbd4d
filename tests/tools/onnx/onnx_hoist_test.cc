// The cases of moved weights that real sessions do not show. tests/ort/attach_branches_test.py shows that models
// compute the same afterwards.
#include "tools/sample_files.h"

#include "tools/onnx/onnx_hoist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace fatctx::tools {
namespace onnx_hoist_test {

using ::testing::ElementsAre;

bool all(const onnx::TensorProto&) { return true; }

void add_constant(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const std::string& output) {
  onnx::NodeProto& node = *nodes.Add();
  node.set_op_type("Constant");
  node.add_output(output);
  onnx::AttributeProto& value = *node.add_attribute();
  value.set_name("value");
  value.mutable_t()->set_name("a tensor's own name");
  value.mutable_t()->set_raw_data(output);
}

void add_call(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const std::string& function,
              const std::string& output) {
  onnx::NodeProto& node = *nodes.Add();
  node.set_op_type(function);
  node.set_domain("local");
  node.add_output(output);
}

// Adds a function with one weight.
onnx::FunctionProto& add_function(onnx::ModelProto& model, const std::string& name) {
  onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("local");
  function.set_name(name);
  add_constant(*function.mutable_node(), "w_of_" + name);
  return function;
}

onnx::GraphProto& add_body(onnx::GraphProto& graph) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("If");
  onnx::AttributeProto& body = *node.add_attribute();
  body.set_name("then_branch");
  return *body.mutable_g();
}

std::vector<std::string> initializers_of(const onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const auto& tensor : model.graph().initializer()) names.push_back(tensor.name());
  return names;
}

TEST(OnnxHoist, NamesDoNotDependOnTheChoice) {
  onnx::ModelProto model;
  add_constant(*add_body(*model.mutable_graph()).mutable_node(), "w");
  add_constant(*add_body(*model.mutable_graph()).mutable_node(), "w");
  add_constant(*add_body(*model.mutable_graph()).mutable_node(), "w_1");
  onnx::ModelProto second = model;
  const std::string kept = model.graph().node(0).SerializeAsString();

  hoist_weights(model, [](const onnx::TensorProto& tensor) { return tensor.name() == "w_3"; });
  hoist_weights(second, all);

  EXPECT_THAT(initializers_of(second), ElementsAre("w_2", "w_3", "w_1"));
  EXPECT_THAT(initializers_of(model), ElementsAre("w_3"));
  EXPECT_EQ(model.graph().node(0).SerializeAsString(), kept) << "what is not taken does not change";
  EXPECT_EQ(model.graph().node(1).attribute(0).g().node_size(), 0);
}

TEST(OnnxHoist, AnInnerGraphThatDefinesTheNameItselfKeepsIt) {
  onnx::ModelProto model;
  onnx::GraphProto& body = add_body(*model.mutable_graph());
  add_constant(*body.mutable_node(), "w");
  onnx::GraphProto& uses = add_body(body);
  uses.add_node()->add_input("w");
  onnx::GraphProto& defines = add_body(body);
  defines.add_input()->set_name("w");
  defines.add_node()->add_input("w");

  hoist_weights(model, all);

  const onnx::GraphProto& after = model.graph().node(0).attribute(0).g();
  EXPECT_THAT(initializers_of(model), ElementsAre("w_1"));
  EXPECT_EQ(after.node(0).attribute(0).g().node(0).input(0), "w_1");
  EXPECT_EQ(after.node(1).attribute(0).g().node(0).input(0), "w");
}

TEST(OnnxHoist, AValueThatIsAlsoAnInputOfItsGraphStays) {
  onnx::ModelProto model;
  onnx::GraphProto& body = add_body(*model.mutable_graph());
  body.add_input()->set_name("w");
  body.add_initializer()->set_name("w");

  hoist_weights(model, all);

  EXPECT_EQ(model.graph().initializer_size(), 0);
}

TEST(OnnxHoist, FunctionsThatCallThemselvesKeepTheirWeights) {
  onnx::ModelProto model;
  model.mutable_graph()->set_name("net");
  add_call(*add_function(model, "a").mutable_node(), "b", "y");
  add_call(*add_function(model, "b").mutable_node(), "a", "y");
  add_function(model, "c");
  const std::string before = model.SerializeAsString();

  hoist_weights(model, all);

  EXPECT_EQ(model.SerializeAsString(), before);
}

TEST(OnnxHoist, FunctionsOfOneNameKeepTheirWeights) {
  onnx::ModelProto model;  // newer versions of ONNX tell them apart by a field that this one does not know
  add_function(model, "a");
  add_function(model, "a");
  add_function(model, "b");

  hoist_weights(model, all);

  EXPECT_THAT(initializers_of(model), ElementsAre("w_of_b"));
}

TEST(OnnxHoist, ACallWithMoreInputsThanTheFunctionHasIsLeftAlone) {
  onnx::ModelProto model;
  add_function(model, "a").add_input("x");
  add_call(*model.mutable_graph()->mutable_node(), "a", "y");
  for (const char* const input : {"x", "more"}) model.mutable_graph()->mutable_node(0)->add_input(input);
  const std::string before = model.SerializeAsString();

  hoist_weights(model, all);

  EXPECT_EQ(model.SerializeAsString(), before);
}

// Returns a model of functions that each call the next one.
onnx::ModelProto chain_of(int count) {
  onnx::ModelProto model;
  for (int i = 0; i < count; ++i) {
    onnx::FunctionProto& function = add_function(model, fmt::format("f{}", i));
    if (i + 1 < count) add_call(*function.mutable_node(), fmt::format("f{}", i + 1), "y");
  }
  add_call(*model.mutable_graph()->mutable_node(), "f0", "y");
  add_constant(*add_body(*model.mutable_graph()).mutable_node(), "w");
  return model;
}

TEST(OnnxHoist, WeightsPassThroughAllFunctionsUpToALimit) {
  onnx::ModelProto shorter = chain_of(300);  // 45,150 inputs
  onnx::ModelProto longer = chain_of(400);   // 80,200
  const std::string kept = longer.functions(399).SerializeAsString();

  hoist_weights(shorter, all);
  hoist_weights(longer, all);

  EXPECT_EQ(shorter.graph().initializer_size(), 301);
  EXPECT_EQ(shorter.functions(0).input_size(), 300);
  EXPECT_EQ(shorter.graph().node(0).input_size(), 300);
  EXPECT_EQ(shorter.functions(299).input_size(), 1);
  EXPECT_THAT(initializers_of(longer), ElementsAre("w"));
  EXPECT_EQ(longer.functions(399).SerializeAsString(), kept);
}

}  // namespace onnx_hoist_test
}  // namespace fatctx::tools
