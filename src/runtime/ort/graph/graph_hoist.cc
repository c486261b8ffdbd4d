#include "runtime/ort/graph/graph_hoist.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/ort/graph/graph_walk.h"
#include "runtime/ort/graph/graph_weight_file.h"
#include "runtime/ort/graph/graph_write.h"

namespace fatctx::ort {
namespace {

template <typename List>
bool has_name(const List& values, const std::string& name) {
  return std::any_of(values.begin(), values.end(), [&](const auto& value) { return value.name() == name; });
}

// Counts how often each name is defined in the whole model.
std::map<std::string, int> definitions_in(const std::vector<onnx::GraphProto*>& graphs) {
  std::map<std::string, int> count;
  for (const onnx::GraphProto* const graph : graphs) {
    std::set<std::string> here;
    for (const auto& input : graph->input()) here.insert(input.name());
    for (const auto& initializer : graph->initializer()) here.insert(initializer.name());
    for (const auto& node : graph->node()) here.insert(node.output().begin(), node.output().end());
    for (const std::string& name : here) ++count[name];
  }
  return count;
}

class Hoist {
 public:
  Hoist(onnx::ModelProto& model, const std::string& folder, const std::string& weights)
      : main_(*model.mutable_graph()),
        graphs_(graphs_of(main_)),
        definitions_(definitions_in(graphs_)),
        file_(folder, weights) {}

  Status run() {
    for (onnx::GraphProto* const graph : graphs_) {
      if (graph != &main_) empty(*graph);
    }
    for (onnx::TensorProto& tensor : moved_) {
      if (!is_outside(tensor)) {
        const std::string bytes = std::move(*tensor.mutable_raw_data());
        file_.add(tensor, bytes);
      }
      *main_.add_initializer() = std::move(tensor);
    }
    return file_.finish();
  }

 private:
  // Takes the weights out of one inner graph. Inner graphs of it have their own turn.
  void empty(onnx::GraphProto& graph) {
    google::protobuf::RepeatedPtrField<onnx::TensorProto> kept;
    std::map<std::string, std::string> names;
    for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
      const bool large = (is_outside(tensor) || tensor.has_raw_data()) && size_of(tensor) >= kExternalBytes;
      if (!large || has_name(graph.input(), tensor.name())) {
        *kept.Add() = std::move(tensor);
        continue;
      }
      const std::string old = tensor.name();
      const bool is_output = has_name(graph.output(), old);
      const std::string name = is_output || definitions_[old] > 1 ? free_name(old) : old;
      if (name != old) names.emplace(old, name);
      if (is_output) copied_.emplace_back(old, name);
      tensor.set_name(name);
      moved_.push_back(std::move(tensor));
    }
    graph.mutable_initializer()->Swap(&kept);
    rename_values(graph, names);
    for (const auto& [output, from] : std::exchange(copied_, {})) {
      auto* const node = graph.add_node();
      node->set_name(output);
      node->set_op_type("Identity");
      node->add_input(from);
      node->add_output(output);
    }
  }

  std::string free_name(const std::string& name) {
    for (int number = 1;; ++number) {
      std::string made = fmt::format("{}_{}", name, number);
      if (definitions_.emplace(made, 1).second) return made;
    }
  }

  onnx::GraphProto& main_;
  std::vector<onnx::GraphProto*> graphs_;
  std::map<std::string, int> definitions_;
  std::vector<std::pair<std::string, std::string>>
      copied_;  // each output of this graph, with its weight in the main graph
  std::vector<onnx::TensorProto> moved_;
  GraphWeightFile file_;
};

}  // namespace

Status hoist_weights(onnx::ModelProto& model, const std::string& folder, const std::string& weights) {
  return Hoist(model, folder, weights).run();
}

}  // namespace fatctx::ort
