// For each initializer of the folded graph:
//   1. find the nodes of the origin that make a value of this name from constants only (Chain::of);
//   2. keep it if these constants are not smaller;
//   3. run the nodes in a session of their own, and compare the bytes: an optimiser may have changed an initializer
//      under its name, for example transposed it;
//   4. replace it by the nodes and their constants.
#include "runtime/ort/graph/graph_unfold.h"

#include <fmt/format.h>
#include <onnxruntime_session_options_config_keys.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/ort/graph/graph_walk.h"
#include "runtime/ort/graph/graph_weight_file.h"
#include "runtime/ort/graph/graph_write.h"

namespace fatctx::ort {
namespace {

constexpr std::size_t kMaxChain = 64;  // nodes; longer ones are not weights that were unpacked

// The headers of 1.23 may have no name for it.
constexpr const char* kExternalFolder = "session.model_external_initializers_file_folder_path";

// Returns the tensor of a Constant node, or null.
const onnx::TensorProto* constant_of(const onnx::NodeProto& node) {
  if (node.op_type() != "Constant" || !node.domain().empty()) return nullptr;
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == "value" && attribute.has_t()) return &attribute.t();
  }
  return nullptr;
}

// The constants and nodes of a main graph, by the names of their values.
struct Makers {
  std::map<std::string, const onnx::TensorProto*> constants;
  std::map<std::string, const onnx::NodeProto*> nodes;
};

Makers makers_of(const onnx::GraphProto& graph) {
  Makers makers;
  std::set<std::string> inputs;
  for (const auto& input : graph.input()) inputs.insert(input.name());
  for (const auto& tensor : graph.initializer()) {
    if (!inputs.contains(tensor.name())) makers.constants.emplace(tensor.name(), &tensor);
  }
  for (const auto& node : graph.node()) {
    const onnx::TensorProto* const constant = constant_of(node);
    for (const auto& output : node.output()) {
      if (constant != nullptr) {
        makers.constants.emplace(output, constant);
      } else {
        makers.nodes.emplace(output, &node);
      }
    }
  }
  return makers;
}

// The nodes that make one value from constants.
struct Chain {
  std::vector<const onnx::NodeProto*> nodes;                // each after those that it reads
  std::map<std::string, const onnx::TensorProto*> sources;  // by name
  std::uint64_t source_bytes = 0;

  // Returns nothing if the value depends on an input, or on a node that is not simple.
  static std::optional<Chain> of(const std::string& value, const Makers& makers) {
    Chain chain;
    std::set<const onnx::NodeProto*> known;
    std::vector<std::string> todo = {value};
    while (!todo.empty()) {
      const std::string name = std::move(todo.back());
      todo.pop_back();
      if (name.empty()) continue;
      if (const auto constant = makers.constants.find(name); constant != makers.constants.end()) {
        if (chain.sources.emplace(name, constant->second).second) chain.source_bytes += size_of(*constant->second);
        continue;
      }
      const auto node = makers.nodes.find(name);
      if (node == makers.nodes.end() || known.size() == kMaxChain) return std::nullopt;
      if (!known.insert(node->second).second) continue;
      const auto& attributes = node->second->attribute();
      if (std::any_of(attributes.begin(), attributes.end(), [](const auto& a) { return a.has_g(); }))
        return std::nullopt;
      for (const auto& input : node->second->input()) todo.push_back(input);
    }
    chain.put_in_order(known);
    return chain;
  }

 private:
  void put_in_order(std::set<const onnx::NodeProto*> left) {
    std::set<std::string> ready = {""};
    for (const auto& [name, source] : sources) ready.insert(name);
    const auto is_ready = [&](const std::string& name) { return ready.contains(name); };
    while (!left.empty()) {
      // Chooses by name, because the order of pointers differs between runs.
      const onnx::NodeProto* next = nullptr;
      for (const onnx::NodeProto* const node : left) {
        if (!std::all_of(node->input().begin(), node->input().end(), is_ready)) continue;
        if (next == nullptr || node->output(0) < next->output(0)) next = node;
      }
      if (next == nullptr) return;  // a circle; the session will refuse it
      nodes.push_back(next);
      ready.insert(next->output().begin(), next->output().end());
      left.erase(next);
    }
  }
};

std::span<const char> bytes_of(const Ort::Value& value) {
  return {static_cast<const char*>(value.GetTensorRawData()), value.GetTensorSizeInBytes()};
}

class Unfold {
 public:
  Unfold(const ModelInFolder& folded, const ModelInFolder& origin, const std::string& weights, const Ort::Env& env)
      : folded_(folded), origin_(origin), env_(env), file_(folded.folder, weights) {}

  Status run() {
    if (!has_equal_domains()) return Done{};
    const onnx::GraphProto& graph = folded_.model.graph();
    const Makers before = makers_of(origin_.model.graph());
    for (const auto& input : graph.input()) taken_.insert(input.name());
    for (const auto& tensor : graph.initializer()) taken_.insert(tensor.name());
    for (const auto& node : graph.node()) taken_.insert(node.output().begin(), node.output().end());
    std::set<std::string> outputs;
    for (const auto& output : graph.output()) outputs.insert(output.name());
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      if (size_of(tensor) < kExternalBytes || before.constants.contains(tensor.name())) continue;
      if (outputs.contains(tensor.name())) continue;
      const auto chain = Chain::of(tensor.name(), before);
      if (!chain || chain->nodes.empty() || chain->source_bytes >= size_of(tensor)) continue;
      take_back(tensor, *chain);
    }
    for (const auto& [name, chain] : replaced_) names_[name] = name;
    for (const auto& [name, chain] : replaced_) {
      for (const onnx::NodeProto* const node : chain.nodes) add_node(*node);
    }
    put_in();
    return file_.finish();
  }

 private:
  // Returns false if an operator may mean something else in the other model.
  [[nodiscard]] bool has_equal_domains() const {
    std::map<std::string, std::int64_t> versions;
    for (const auto& opset : origin_.model.opset_import()) versions.emplace(opset.domain(), opset.version());
    return std::ranges::all_of(folded_.model.opset_import(), [&](const auto& opset) {
      const auto found = versions.find(opset.domain());
      return found == versions.end() || found->second == opset.version();
    });
  }

  // A model of the chain alone. Its outputs are the value and the sources.
  [[nodiscard]] onnx::ModelProto model_of(const onnx::TensorProto& tensor, const Chain& chain) const {
    onnx::ModelProto model;
    model.set_ir_version(origin_.model.ir_version());
    *model.mutable_opset_import() = origin_.model.opset_import();
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.set_name("chain");
    const auto give = [&](const std::string& name, int type) {
      auto* const output = graph.add_output();
      output->set_name(name);
      output->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    };
    give(tensor.name(), tensor.data_type());
    for (const auto& [name, source] : chain.sources) {
      auto* const constant = graph.add_initializer();
      *constant = *source;
      constant->set_name(name);
      give(name, source->data_type());
    }
    for (const onnx::NodeProto* const node : chain.nodes) *graph.add_node() = *node;
    return model;
  }

  // Returns the values of the outputs of the model; nothing if it cannot be run.
  [[nodiscard]] std::vector<Ort::Value> run_chain(const onnx::ModelProto& model) const {
    if (model.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return {};
    const std::string bytes = model.SerializeAsString();
    std::vector<const char*> names;
    for (const auto& output : model.graph().output()) names.push_back(output.name().c_str());
    try {
      Ort::SessionOptions options;
      options.SetGraphOptimizationLevel(ORT_DISABLE_ALL);
      options.SetIntraOpNumThreads(1);
      options.SetLogSeverityLevel(ORT_LOGGING_LEVEL_FATAL);
      options.AddConfigEntry(kExternalFolder, origin_.folder.c_str());
      Ort::Session session(env_, bytes.data(), bytes.size(), options);
      return session.Run(Ort::RunOptions(nullptr), nullptr, nullptr, 0, names.data(), names.size());
    } catch (const Ort::Exception&) {
      return {};
    }
  }

  [[nodiscard]] bool is_equal(const onnx::TensorProto& tensor, const Ort::Value& value) const {
    const auto info = value.GetTensorTypeAndShapeInfo();
    const std::vector<std::int64_t> shape = info.GetShape();
    if (static_cast<int>(info.GetElementType()) != tensor.data_type()) return false;
    if (!std::equal(shape.begin(), shape.end(), tensor.dims().begin(), tensor.dims().end())) return false;
    const std::span<const char> made = bytes_of(value);
    if (!is_outside(tensor)) return std::ranges::equal(made, tensor.raw_data());
    std::ifstream file(folded_.folder + external_entry(tensor, "location"), std::ios::binary);
    file.seekg(static_cast<std::streamoff>(std::strtoull(external_entry(tensor, "offset").c_str(), nullptr, 10)));
    std::string stored(size_of(tensor), '\0');
    return file.read(stored.data(), static_cast<std::streamsize>(stored.size())) && std::ranges::equal(made, stored);
  }

  std::string free_name(const std::string& name) {
    std::string made = name;
    for (int number = 1; !taken_.insert(made).second; ++number) made = fmt::format("{}_unfolded_{}", name, number);
    return made;
  }

  void take_back(const onnx::TensorProto& tensor, const Chain& chain) {
    const onnx::ModelProto model = model_of(tensor, chain);
    const std::vector<Ort::Value> values = run_chain(model);
    if (values.empty() || !is_equal(tensor, values[0])) return;
    replaced_.emplace(tensor.name(), chain);
    std::size_t number = 1;
    for (const auto& [name, source] : chain.sources) add_source(name, *source, values[number++]);
  }

  void add_source(const std::string& name, const onnx::TensorProto& source, const Ort::Value& value) {
    if (names_.contains(name)) return;
    onnx::TensorProto& made = sources_.emplace_back();
    made.set_data_type(source.data_type());
    *made.mutable_dims() = source.dims();
    made.set_name(names_[name] = free_name(name));
    const std::span<const char> bytes = bytes_of(value);
    if (bytes.size() >= kExternalBytes) {
      file_.add(made, bytes);
    } else {
      made.set_raw_data(bytes.data(), bytes.size());
    }
  }

  void add_node(const onnx::NodeProto& node) {
    if (!added_.insert(&node).second) return;
    onnx::NodeProto& made = nodes_.emplace_back(node);
    for (std::string& input : *made.mutable_input()) {
      if (!input.empty()) input = names_.at(input);
    }
    for (std::string& output : *made.mutable_output()) {
      if (output.empty()) continue;
      if (!names_.contains(output)) names_[output] = free_name(output);
      output = names_.at(output);
    }
  }

  void put_in() {
    if (replaced_.empty()) return;
    onnx::GraphProto& graph = *folded_.model.mutable_graph();
    google::protobuf::RepeatedPtrField<onnx::TensorProto> kept;
    for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
      if (!replaced_.contains(tensor.name())) *kept.Add() = std::move(tensor);
    }
    for (onnx::TensorProto& source : sources_) *kept.Add() = std::move(source);
    graph.mutable_initializer()->Swap(&kept);
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      put_makers_of(node, nodes);
      *nodes.Add() = std::move(node);
    }
    graph.mutable_node()->Swap(&nodes);
    add_domains();
  }

  // Puts the added nodes that this node needs in front of it. Nodes far from it would keep their results for long.
  void put_makers_of(onnx::NodeProto& node, google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
    std::set<std::string> read(node.input().begin(), node.input().end());
    for (auto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      for (onnx::GraphProto* const inner : graphs_of(*attribute.mutable_g())) {
        for (const auto& one : inner->node()) read.insert(one.input().begin(), one.input().end());
      }
    }
    for (auto made = nodes_.rbegin(); made != nodes_.rend(); ++made) {
      const bool needed =
          std::ranges::any_of(made->output(), [&](const auto& output) { return read.contains(output); });
      if (needed) read.insert(made->input().begin(), made->input().end());
    }
    for (onnx::NodeProto& made : nodes_) {
      if (made.output_size() == 0) continue;  // put already
      const bool needed = std::ranges::any_of(made.output(), [&](const auto& output) { return read.contains(output); });
      if (needed) *nodes.Add() = std::exchange(made, onnx::NodeProto());
    }
  }

  // The nodes may be of a domain that the folded graph does not name any more.
  void add_domains() {
    std::set<std::string> known;
    for (const auto& opset : folded_.model.opset_import()) known.insert(opset.domain());
    for (const auto& opset : origin_.model.opset_import()) {
      if (known.insert(opset.domain()).second) *folded_.model.add_opset_import() = opset;
    }
  }

  ModelInFolder folded_;
  ModelInFolder origin_;
  const Ort::Env& env_;
  GraphWeightFile file_;
  std::set<std::string> taken_;               // names of the folded graph
  std::map<std::string, Chain> replaced_;     // initializers
  std::map<std::string, std::string> names_;  // of the origin, in the folded graph
  std::set<const onnx::NodeProto*> added_;
  std::vector<onnx::TensorProto> sources_;
  std::vector<onnx::NodeProto> nodes_;
};

}  // namespace

std::uint64_t constant_bytes(const onnx::ModelProto& model) {
  std::uint64_t sum = 0;
  for (const auto& tensor : model.graph().initializer()) sum += size_of(tensor);
  for (const auto& node : model.graph().node()) {
    if (const onnx::TensorProto* const constant = constant_of(node)) sum += size_of(*constant);
  }
  return sum;
}

Status unfold_larger_constants(const ModelInFolder& folded, const ModelInFolder& origin, const std::string& weights,
                               const Ort::Env& env) {
  return Unfold(folded, origin, weights, env).run();
}

}  // namespace fatctx::ort
