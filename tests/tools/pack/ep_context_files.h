// Models as an execution provider writes them: EPContext nodes that name a binary, and the provider's note.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/sample_files.h"

namespace fatctx::support {

inline constexpr std::string_view kOneTarget = "v2:6:2.51.0:5.51.0:75:57:8:0";

inline void set_number(onnx::NodeProto& node, const char* name, std::int64_t value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

inline void set_text(onnx::NodeProto& node, const char* name, const std::string& value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
}

inline onnx::NodeProto& add_node(onnx::ModelProto& model, const std::string& name, const std::string& file) {
  auto& node = *model.mutable_graph()->add_node();
  node.set_op_type("EPContext");
  node.set_domain("com.microsoft");
  node.set_name(name);
  set_number(node, "embed_mode", 0);
  set_text(node, "ep_cache_context", file);
  set_text(node, "source", "QNN");
  return node;
}

// Returns a model as an execution provider writes it: one node instead of the graph, and the note.
inline onnx::ModelProto context_model(const std::string& file, std::string_view compatibility = kOneTarget) {
  onnx::ModelProto model = tiny_model();
  model.mutable_graph()->clear_node();
  model.mutable_graph()->clear_initializer();
  add_node(model, "QNN_1", file);
  auto& note = *model.add_metadata_props();
  note.set_key("ep_compatibility_info.QNNExecutionProvider");
  note.set_value(std::string(compatibility));
  return model;
}

}  // namespace fatctx::support
