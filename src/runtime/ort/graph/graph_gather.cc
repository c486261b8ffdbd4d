#include "runtime/ort/graph/graph_gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/ort/graph/graph_walk.h"

namespace fatctx::ort {
namespace {

using Shape = std::vector<std::int64_t>;

bool is_one_of(const onnx::NodeProto& node, std::initializer_list<std::string_view> operators) {
  return node.domain().empty() && std::ranges::find(operators, node.op_type()) != operators.end();
}

bool gathers_rows(const onnx::NodeProto& node) {
  if (!is_one_of(node, {"Gather"}) || node.input_size() != 2) return false;
  const auto& attributes = node.attribute();
  return std::all_of(attributes.begin(), attributes.end(),
                     [](const auto& a) { return a.name() != "axis" || a.i() == 0; });
}

class GatherFirst {
 public:
  explicit GatherFirst(onnx::ModelProto& model) : model_(model) {}

  void run() {
    while (move_one()) {
    }
  }

 private:
  // Looks anew after each move, because every move changes who makes what.
  bool move_one() {
    onnx::GraphProto& main = *model_.mutable_graph();
    look(main);
    for (int at = 0; at < main.node_size(); ++at) {
      const onnx::NodeProto& gather = main.node(at);
      if (!gathers_rows(gather)) continue;
      const auto maker = makers_.find(gather.input(0));
      if (maker == makers_.end() || uses_[gather.input(0)] != 1) continue;
      const auto tables = tables_of(main.node(maker->second));
      if (tables.empty()) continue;
      move(main, at, maker->second, tables);
      return true;
    }
    return false;
  }

  void look(onnx::GraphProto& main) {
    uses_.clear();
    makers_.clear();
    shapes_.clear();
    names_.clear();
    for (onnx::GraphProto* const graph : graphs_of(main)) {
      for (const auto& node : graph->node()) {
        for (const auto& input : node.input()) ++uses_[input];
        names_.insert(node.output().begin(), node.output().end());
      }
      for (const auto& output : graph->output()) ++uses_[output.name()];
      for (const auto& tensor : graph->initializer()) names_.insert(tensor.name());
    }
    std::set<std::string> inputs;
    for (const auto& input : main.input()) inputs.insert(input.name());
    for (const auto& tensor : main.initializer()) {
      if (!inputs.contains(tensor.name())) shapes_[tensor.name()] = Shape(tensor.dims().begin(), tensor.dims().end());
    }
    for (int i = 0; i < main.node_size(); ++i) {
      const onnx::NodeProto& node = main.node(i);
      for (const auto& output : node.output()) makers_[output] = i;
      if (const auto shape = shape_of(node)) shapes_[node.output(0)] = *shape;
    }
  }

  // Returns the shape of what an element-wise node makes from constants.
  [[nodiscard]] std::optional<Shape> shape_of(const onnx::NodeProto& node) const {
    if (!is_one_of(node, {"Cast", "Mul", "Add", "Sub", "Div"})) return std::nullopt;
    std::optional<Shape> shape;
    for (const auto& input : node.input()) {
      const auto found = shapes_.find(input);
      if (found == shapes_.end()) return std::nullopt;
      if (!shape) {
        shape = found->second;
      } else if (const auto wide = broadcast(*shape, found->second)) {
        shape = wide;
      } else {
        return std::nullopt;
      }
    }
    return shape;
  }

  [[nodiscard]] static std::optional<Shape> broadcast(Shape a, Shape b) {
    if (a.size() < b.size()) std::swap(a, b);
    for (std::size_t i = 0; i < b.size(); ++i) {
      std::int64_t& wide = a[a.size() - 1 - i];
      const std::int64_t other = b[b.size() - 1 - i];
      if (wide != other && wide != 1 && other != 1) return std::nullopt;
      wide = wide == 1 ? other : wide;
    }
    return a;
  }

  // Returns the inputs of the node that have the rows of its output; nothing if the others do not fit to single rows.
  [[nodiscard]] std::set<std::string> tables_of(const onnx::NodeProto& node) const {
    const auto shape = shape_of(node);
    if (!shape || shape->empty()) return {};
    std::set<std::string> tables;
    for (const auto& input : node.input()) {
      const Shape& own = shapes_.at(input);
      if (own.size() < shape->size()) continue;
      if (own[0] != (*shape)[0]) return {};
      tables.insert(input);
    }
    return tables;
  }

  std::string free_name(const std::string& name) {
    std::string made = name;
    for (int number = 1; !names_.insert(made).second; ++number) made = fmt::format("{}_{}", name, number);
    return made;
  }

  void move(onnx::GraphProto& main, int gather_at, int maker_at, const std::set<std::string>& tables) {
    const onnx::NodeProto gather = main.node(gather_at);
    const onnx::NodeProto maker = main.node(maker_at);
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    for (int i = 0; i < main.node_size(); ++i) {
      if (i == maker_at) continue;
      if (i != gather_at) {
        *nodes.Add() = std::move(*main.mutable_node(i));
        continue;
      }
      std::map<std::string, std::string> rows;
      for (const std::string& table : tables) {
        onnx::NodeProto& own = *nodes.Add();
        own = gather;
        rows[table] = free_name(table + "_rows");
        own.set_name(rows[table]);
        own.set_input(0, table);
        own.set_output(0, rows[table]);
      }
      onnx::NodeProto& moved = *nodes.Add();
      moved = maker;
      for (std::string& input : *moved.mutable_input()) {
        if (const auto found = rows.find(input); found != rows.end()) input = found->second;
      }
      moved.set_output(0, gather.output(0));
    }
    main.mutable_node()->Swap(&nodes);
  }

  onnx::ModelProto& model_;
  std::map<std::string, int> uses_;      // by value, in all graphs
  std::map<std::string, int> makers_;    // index of the node of the main graph
  std::map<std::string, Shape> shapes_;  // known for constants and for values made from them
  std::set<std::string> names_;
};

}  // namespace

void gather_before_unpacking(onnx::ModelProto& model) { GatherFirst(model).run(); }

}  // namespace fatctx::ort
