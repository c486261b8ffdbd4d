#include "runtime/ort/graph/graph_canonical.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "container/format/hash.h"
#include "fatctx/record.h"
#include "runtime/ort/graph/graph_walk.h"

namespace fatctx::ort {
namespace {

using Names = std::map<std::string, std::string>;

// ONNX Runtime makes a free name with a counter of the whole graph behind this word.
constexpr std::string_view kCounted = "_token_";
constexpr std::size_t kHashDigits = 16;
constexpr std::size_t kStep = 1 << 20;

// Returns "const" for "const_token_17", and the name itself if it has no counter.
std::string without_counter(const std::string& name) {
  const std::size_t at = name.rfind(kCounted);
  if (at == std::string::npos || at == 0 || at + kCounted.size() == name.size()) return name;
  const bool digits = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at + kCounted.size()), name.end(),
                                  [](char c) { return c >= '0' && c <= '9'; });
  return digits ? name.substr(0, at) : name;
}

// Tells which names ONNX Runtime generated: those with a counter, and the one that took the name without it.
class Generated {
 public:
  void see(const std::string& name) {
    const std::string base = without_counter(name);
    if (base != name) bases_.insert(base);
  }
  [[nodiscard]] bool contains(const std::string& name) const { return bases_.contains(without_counter(name)); }

 private:
  std::set<std::string> bases_;
};

Generated generated_values(const onnx::GraphProto& graph) {
  Generated generated;
  for (const auto& initializer : graph.initializer()) generated.see(initializer.name());
  for (const auto& node : graph.node()) {
    for (const auto& output : node.output()) generated.see(output);
  }
  return generated;
}

// Calls `use` with the bytes of a tensor in a file, part by part.
template <typename Use>
Status for_bytes(const onnx::TensorProto& tensor, const std::string& folder, const Use& use) {
  const std::string path = folder + external_entry(tensor, "location");
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(std::strtoull(external_entry(tensor, "offset").c_str(), nullptr, 10)));
  std::vector<char> bytes(std::min<std::uint64_t>(kStep, size_of(tensor)));
  for (std::uint64_t left = size_of(tensor); left != 0;) {
    const std::size_t part = std::min<std::uint64_t>(left, bytes.size());
    if (!file.read(bytes.data(), static_cast<std::streamsize>(part))) {
      return Error{ErrorCode::kTruncated, fmt::format("{}: initializer \"{}\" cannot be read", path, tensor.name())};
    }
    use(std::string_view(bytes.data(), part));
    left -= part;
  }
  return Done{};
}

Result<std::string> read_bytes(const onnx::TensorProto& tensor, const std::string& folder) {
  std::string bytes;
  FATCTX_TRY(for_bytes(tensor, folder, [&](std::string_view part) { bytes += part; }));
  return bytes;
}

// Returns a text of digits that depends on type, shape and elements.
Result<std::string> content_of(const onnx::TensorProto& tensor, const std::string& folder) {
  container::Hasher hasher;
  onnx::TensorProto rest;
  rest.set_data_type(tensor.data_type());
  *rest.mutable_dims() = tensor.dims();
  if (!is_outside(tensor)) {
    rest = tensor;
    rest.clear_name();
    rest.clear_doc_string();
  }
  const std::string text = rest.SerializeAsString();
  hasher.update(std::as_bytes(std::span(text)));
  if (is_outside(tensor)) {
    FATCTX_TRY(
        for_bytes(tensor, folder, [&](std::string_view part) { hasher.update(std::as_bytes(std::span(part))); }));
  }
  return to_hex(hasher.digest().bytes).substr(0, kHashDigits);
}

// Compares the bytes, because equal hashes do not prove equality.
Result<bool> has_equal_content(onnx::TensorProto a, onnx::TensorProto b, const std::string& folder) {
  if (is_outside(a) != is_outside(b)) return false;
  if (is_outside(a)) {
    FATCTX_ASSIGN(const std::string bytes_a, read_bytes(a, folder));
    FATCTX_ASSIGN(const std::string bytes_b, read_bytes(b, folder));
    if (bytes_a != bytes_b) return false;
  }
  for (onnx::TensorProto* const tensor : {&a, &b}) {
    tensor->clear_name();
    tensor->clear_doc_string();
    tensor->clear_external_data();
  }
  return a.SerializeAsString() == b.SerializeAsString();
}

// The names of one graph.
class Renamer {
 public:
  // `number` tells the graphs of a model apart; 0 is the main graph.
  Renamer(onnx::GraphProto& graph, std::size_t number, const std::string& folder)
      : graph_(graph), number_(number), folder_(folder), generated_(generated_values(graph)) {
    for (const auto& input : graph.input()) fixed_.insert(input.name());
    for (const auto& output : graph.output()) fixed_.insert(output.name());
  }

  Status run() {
    for (const onnx::TensorProto& tensor : graph_.initializer()) FATCTX_TRY(name_initializer(tensor));
    leave_one_of_each();
    for (onnx::NodeProto& node : *graph_.mutable_node()) name_outputs(node);
    rename_values(graph_, names_);
    name_nodes();
    return Done{};
  }

 private:
  Status name_initializer(const onnx::TensorProto& tensor) {
    const bool generated = generated_.contains(tensor.name());
    if (fixed_.contains(tensor.name()) || (is_outside(tensor) && !generated)) return Done{};
    FATCTX_ASSIGN(const std::string content, content_of(tensor, folder_));
    const std::string base = generated ? without_counter(tensor.name()) : "constant";
    std::string name = fmt::format("{}_{}", is_outside(tensor) ? base : "constant", content);
    if (number_ != 0) name += fmt::format("_in_{}", number_);  // an inner graph must not hide names of the outer
    for (auto known = by_name_.find(name); known != by_name_.end(); known = by_name_.find(name)) {
      FATCTX_ASSIGN(const bool equal, has_equal_content(*known->second, tensor, folder_));
      if (equal) break;
      name += '_';
    }
    by_name_.emplace(name, &tensor);
    names_.emplace(tensor.name(), std::move(name));
    return Done{};
  }

  // Leaves one of those that get the same name.
  void leave_one_of_each() {
    std::set<std::string> seen;
    google::protobuf::RepeatedPtrField<onnx::TensorProto> kept;
    for (onnx::TensorProto& tensor : *graph_.mutable_initializer()) {
      const auto found = names_.find(tensor.name());
      if (found == names_.end() || seen.insert(found->second).second) *kept.Add() = std::move(tensor);
    }
    graph_.mutable_initializer()->Swap(&kept);
  }

  std::string next(const std::string& name, std::map<std::string, int>& counts) const {
    const std::string base = without_counter(name);
    for (;;) {
      std::string made = fmt::format("{}{}{}", base, kCounted, counts[base]++);
      if (!fixed_.contains(made)) return number_ == 0 ? made : fmt::format("{}_in_{}", made, number_);
    }
  }

  void name_outputs(const onnx::NodeProto& node) {
    for (const std::string& output : node.output()) {
      if (output.empty() || fixed_.contains(output) || !generated_.contains(output)) continue;
      names_.emplace(output, next(output, counts_));
    }
  }

  void name_nodes() {
    Generated generated;
    for (const auto& node : graph_.node()) generated.see(node.name());
    std::map<std::string, int> counts;
    for (auto& node : *graph_.mutable_node()) {
      if (generated.contains(node.name())) node.set_name(next(node.name(), counts));
    }
  }

  onnx::GraphProto& graph_;
  std::size_t number_;
  const std::string& folder_;
  Generated generated_;
  std::set<std::string> fixed_;  // inputs and outputs
  std::map<std::string, const onnx::TensorProto*> by_name_;
  Names names_;
  std::map<std::string, int> counts_;
};

}  // namespace

Status make_names_canonical(onnx::ModelProto& model, const std::string& folder) {
  std::size_t number = 0;
  for (onnx::GraphProto* const graph : graphs_of(*model.mutable_graph())) {
    FATCTX_TRY(Renamer(*graph, number++, folder).run());
  }
  return Done{};
}

}  // namespace fatctx::ort
