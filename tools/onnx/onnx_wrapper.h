// An ONNX model around a context binary: one EPContext node for each graph in it, as execution providers write and read
// them. What the nodes take and give becomes inputs and outputs of the model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/record.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

struct WrappedTensor {
  std::string name;  // as the binary calls it
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;  // -1: not fixed
  // The model then has float32 there, with a QuantizeLinear or DequantizeLinear node in between.
  std::optional<TensorQuantisation> quantisation = {};
  friend bool operator==(const WrappedTensor&, const WrappedTensor&) = default;
};

struct WrappedGraph {
  std::string name;  // of the node, and its partition_name
  std::vector<WrappedTensor> inputs;
  std::vector<WrappedTensor> outputs;  // at least one
  std::uint64_t spill_fill_bytes = 0;  // 0: not stated
};

struct WrapperModel {
  std::vector<WrappedGraph> graphs;  // the first has the main node
  std::string source;                // the execution provider
  std::string sdk_version;           // empty: not stated
  std::int64_t max_size = 0;         // 0: not stated
  std::string cache;                 // file with the binary, relative to the model; empty: `payload`
  std::string payload;
  std::map<std::string, std::string> metadata;  // notes of the model, by key
};

// The name that the model gives to what the caller sees of a tensor: its own, or that of the float32 beside it.
[[nodiscard]] std::string outer_name(const WrappedTensor& tensor);
// The name of what the node takes or gives: the binary's own, unless the float32 outside has that one. The node then
// says so in io_name_overrides, which providers know whose models have such names.
[[nodiscard]] std::string inner_name(const WrappedTensor& tensor);

// An element type that EPContext nodes may take and give: none below a byte.
[[nodiscard]] bool wrappable(DType dtype) noexcept;

// Whether a model may carry so many bytes. Errors: limit_exceeded (a protobuf message has at most 2 GB).
[[nodiscard]] Status check_embeddable(std::uint64_t payload_bytes);

// The bytes of such a file. Tensors of the same name, type and shape that several graphs take are one input of the
// model. The same input gives the same bytes.
// Errors: invalid_argument (no graph, a graph without outputs or with the name of another, a name that two graphs give,
//         that one gives and another takes, or that they take with different types or shapes; an element type below a
//         byte), limit_exceeded (2 GB).
[[nodiscard]] Result<std::string> wrapper_bytes(WrapperModel model);

}  // namespace fatctx::tools
