// The graphs of an ONNX model: the main graph, and the bodies of If, Loop and Scan.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fatctx::ort {

// Returns this graph and all graphs inside of it, each before those that it contains.
[[nodiscard]] std::vector<onnx::GraphProto*> graphs_of(onnx::GraphProto& graph);

// Returns the graphs directly inside of this graph, in the order of its nodes.
[[nodiscard]] std::vector<onnx::GraphProto*> inner_graphs_of(onnx::GraphProto& graph);

// Renames values of this graph, here and where the graphs inside of it use them. A graph that defines a name itself
// keeps it.
void rename_values(onnx::GraphProto& graph, const std::map<std::string, std::string>& names);

// A value that a node takes, and the graph that the node is in.
struct OpenValue {
  std::string graph;
  std::string name;
};
// Returns a value that neither its graph nor one around it defines; nothing if there is none.
[[nodiscard]] std::optional<OpenValue> value_from_nowhere(const onnx::GraphProto& graph);

[[nodiscard]] bool is_outside(const onnx::TensorProto& tensor);

// Returns the size of the elements of the tensor; 0 for strings, and if it is not known.
[[nodiscard]] std::uint64_t size_of(const onnx::TensorProto& tensor);

// Returns the tensor's value for this key of its external data; empty if there is none.
[[nodiscard]] std::string external_entry(const onnx::TensorProto& tensor, const std::string& key);

// Says that the bytes of the tensor are stored in a file. Removes the ones inside.
void set_outside(onnx::TensorProto& tensor, const std::string& location, std::uint64_t offset, std::uint64_t size);

}  // namespace fatctx::ort
