// Writes an ONNX model around a context binary: one EPContext node for each graph in it, in the form of
// execution providers. The nodes' inputs and outputs become those of the model.
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
  std::string name;  // its name in the binary
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;  // -1: not fixed
  // If set, the model has float32 there, with a QuantizeLinear or DequantizeLinear node in between.
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
  bool multi_soc = false;                       // the binary is a DLC, out of which the provider takes that of its SoC
  std::map<std::string, std::string> metadata;  // metadata of the model, by key
};

// Returns the model's name of the tensor that the caller sees: the tensor's own, or that of the float32
// beside it.
[[nodiscard]] std::string outer_name(const WrappedTensor& tensor);
// Returns the name of the node's input or output: the binary's own, unless the float32 outside has it. The
// node then states it in io_name_overrides, which is known to providers whose models have such names.
[[nodiscard]] std::string inner_name(const WrappedTensor& tensor);

// Returns true for an element type that EPContext nodes may have: none below a byte.
[[nodiscard]] bool wrappable(DType dtype) noexcept;

// Checks that so many bytes fit a model. Errors: limit_exceeded (a protobuf message has at most 2 GB).
[[nodiscard]] Status check_embeddable(std::uint64_t payload_bytes);

// Returns the bytes of such a file. If several graphs take tensors of the same name, type and shape, the
// model has one input for them. Equal arguments produce equal bytes.
// Errors: invalid_argument (no graph, a graph without outputs or with the name of another, a name that two graphs give,
//         that one gives and another takes, or that they take with different types or shapes; an element type below a
//         byte), limit_exceeded (2 GB).
[[nodiscard]] Result<std::string> wrapper_bytes(WrapperModel model);

}  // namespace fatctx::tools
