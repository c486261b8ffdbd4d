// ONNX models with external initializers: finds the external data, and redirects it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "runtime/ort/graph/api.h"

namespace onnx {
class ModelProto;
}

namespace fatctx::ort {

struct ExternalTensor {
  std::string name;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<std::int64_t> shape;
  std::string location;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

// Returns the external initializers of the main graph. Errors: malformed, naming `record` (not an ONNX model; an
// incomplete location).
[[nodiscard]] Result<std::vector<ExternalTensor>> external_tensors(ByteView model, std::string_view record);

// Checks that an ONNX model of so many bytes, without its external data, can be written. Errors: limit_exceeded (2
// GiB).
[[nodiscard]] Status check_model_size(std::size_t bytes);

// A model in a file that will be packed. Lists without a defined order are sorted by name, so that equal models have
// equal bytes.
class StagedGraph {
 public:
  // Reads the model. Errors: not_found, malformed, truncated.
  [[nodiscard]] static Result<StagedGraph> read(const std::string& path);
  // Takes a model with external data in `folder`, which ends with '/'. Errors: malformed, truncated.
  [[nodiscard]] static Result<StagedGraph> of(onnx::ModelProto model, const std::string& folder);
  StagedGraph() noexcept;
  ~StagedGraph();
  StagedGraph(StagedGraph&&) noexcept;
  StagedGraph& operator=(StagedGraph&&) noexcept;

  // Returns the external tensors, always in the same order.
  [[nodiscard]] const std::vector<ExternalTensor>& tensors() const noexcept { return tensors_; }
  // Redirects the tensor with this index to another location.
  void point(std::size_t index, const std::string& location, std::uint64_t offset);
  [[nodiscard]] std::uint64_t size_bytes() const;  // without external data
  // Returns the bytes of the model; equal models have equal bytes. Errors: limit_exceeded (above 2 GiB).
  [[nodiscard]] Result<std::vector<std::byte>> bytes() const;

 private:
  struct Impl;
  explicit StagedGraph(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
  std::vector<ExternalTensor> tensors_;
};

}  // namespace fatctx::ort
