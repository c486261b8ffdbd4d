#include "tools/onnx/onnx_import.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/result_matchers.h"
#include "tools/pack/ep_context_files.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace onnx_max_size_test {

using support::is_ok;
using support::TempDir;

void add_node(onnx::ModelProto& model, bool main, std::int64_t max_size) {
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type("EPContext");
  node.set_domain("com.microsoft");
  const auto add = [&](const char* name, std::int64_t value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  };
  add("main_context", main ? 1 : 0);
  if (max_size != 0) add("max_size", max_size);
}

// S1.23: the last model's buffer is the largest, and the first session must request that size, too.
TEST(OnnxMaxSize, EveryMainNodeGetsTheLargest) {
  const TempDir folder;
  onnx::ModelProto model = support::tiny_model();
  add_node(model, true, 1000);
  add_node(model, true, 0);
  add_node(model, false, 0);
  support::write_model(folder.file("m.onnx"), model);
  const auto before = largest_max_size(folder.file("m.onnx"));
  ASSERT_TRUE(is_ok(before));
  EXPECT_EQ(before.value(), 1000);

  const auto changed = write_onnx_with_max_size(folder.file("m.onnx"), 5000, folder.file("m.onnx"));

  ASSERT_TRUE(is_ok(changed));
  EXPECT_EQ(changed.value(), 2U);
  std::ifstream in(folder.file("m.onnx"), std::ios::binary);
  onnx::ModelProto read;
  ASSERT_TRUE(read.ParseFromIstream(&in));
  int asked = 0;
  for (const onnx::NodeProto& node : read.graph().node()) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() != "max_size") continue;
      EXPECT_EQ(attribute.i(), 5000);
      EXPECT_EQ(attribute.type(), onnx::AttributeProto::INT);
      ++asked;
    }
  }
  EXPECT_EQ(asked, 2);
}

}  // namespace onnx_max_size_test
}  // namespace fatctx::tools
