#include "runtime/ort/graph/graph_walk.h"

#include <cstdlib>
#include <set>
#include <utility>

#include "runtime/ort/attach/element_types.h"

namespace fatctx::ort {
namespace {

using Names = std::map<std::string, std::string>;

void rename(std::string& name, const Names& names) {
  if (const auto found = names.find(name); found != names.end()) name = found->second;
}

std::set<std::string> defined_in(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& initializer : graph.initializer()) names.insert(initializer.name());
  for (const auto& node : graph.node()) names.insert(node.output().begin(), node.output().end());
  return names;
}

void rename_here(onnx::GraphProto& graph, const Names& names) {
  for (auto& initializer : *graph.mutable_initializer()) rename(*initializer.mutable_name(), names);
  for (auto& value : *graph.mutable_value_info()) rename(*value.mutable_name(), names);
  for (auto& node : *graph.mutable_node()) {
    for (auto& input : *node.mutable_input()) rename(input, names);
    for (auto& output : *node.mutable_output()) rename(output, names);
  }
}

}  // namespace

std::vector<onnx::GraphProto*> inner_graphs_of(onnx::GraphProto& graph) {
  std::vector<onnx::GraphProto*> inner;
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) inner.push_back(attribute.mutable_g());
      for (auto& one : *attribute.mutable_graphs()) inner.push_back(&one);
    }
  }
  return inner;
}

std::vector<onnx::GraphProto*> graphs_of(onnx::GraphProto& graph) {
  std::vector<onnx::GraphProto*> graphs = {&graph};
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const auto inner = inner_graphs_of(*graphs[i]);
    graphs.insert(graphs.end(), inner.begin(), inner.end());
  }
  return graphs;
}

void rename_values(onnx::GraphProto& graph, const std::map<std::string, std::string>& names) {
  if (names.empty()) return;
  std::vector<std::pair<onnx::GraphProto*, Names>> todo = {{&graph, names}};
  while (!todo.empty()) {
    const auto [at, here] = std::move(todo.back());
    todo.pop_back();
    rename_here(*at, here);
    for (onnx::GraphProto* const inner : inner_graphs_of(*at)) {
      Names left = here;
      for (const std::string& own : defined_in(*inner)) left.erase(own);
      if (!left.empty()) todo.emplace_back(inner, std::move(left));
    }
  }
}

std::optional<OpenValue> value_from_nowhere(const onnx::GraphProto& graph) {
  struct Scope {
    const onnx::GraphProto* graph;
    std::set<std::string> names;
    std::size_t outer;
  };
  std::vector<Scope> scopes = {{&graph, defined_in(graph), 0}};
  const auto is_known = [&](std::size_t at, const std::string& name) {
    for (;; at = scopes[at].outer) {
      if (scopes[at].names.contains(name)) return true;
      if (at == 0) return false;
    }
  };
  for (std::size_t at = 0; at < scopes.size(); ++at) {
    const onnx::GraphProto& here = *scopes[at].graph;
    for (const auto& node : here.node()) {
      for (const std::string& input : node.input()) {
        if (!input.empty() && !is_known(at, input)) return OpenValue{.graph = here.name(), .name = input};
      }
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) scopes.push_back({&attribute.g(), defined_in(attribute.g()), at});
        for (const auto& inner : attribute.graphs()) scopes.push_back({&inner, defined_in(inner), at});
      }
    }
  }
  return std::nullopt;
}

bool is_outside(const onnx::TensorProto& tensor) { return tensor.data_location() == onnx::TensorProto::EXTERNAL; }

std::uint64_t size_of(const onnx::TensorProto& tensor) {
  if (is_outside(tensor)) return std::strtoull(external_entry(tensor, "length").c_str(), nullptr, 10);
  if (tensor.has_raw_data()) return tensor.raw_data().size();
  const auto dtype = dtype_of(tensor.data_type());
  std::vector<std::uint64_t> shape;
  for (const std::int64_t size : tensor.dims()) shape.push_back(size < 0 ? 0 : static_cast<std::uint64_t>(size));
  return dtype ? tensor_size_bytes(*dtype, shape).value_or(0) : 0;
}

std::string external_entry(const onnx::TensorProto& tensor, const std::string& key) {
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == key) return entry.value();
  }
  return {};
}

void set_outside(onnx::TensorProto& tensor, const std::string& location, std::uint64_t offset, std::uint64_t size) {
  tensor.clear_raw_data();
  tensor.clear_external_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto say = [&](const char* key, std::string value) {
    auto* const entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(std::move(value));
  };
  say("location", location);
  say("offset", std::to_string(offset));
  say("length", std::to_string(size));
}

}  // namespace fatctx::ort
