// ONNX models whose initializers lie outside of them: where, and pointed somewhere else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "runtime/ort/ep/api.h"

namespace fatctx::ort {

struct ExternalTensor {
  std::string name;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<std::int64_t> shape;
  std::string location;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

// Of the main graph. Errors: malformed (not an ONNX model; a place that is not said whole), naming `record`.
[[nodiscard]] Result<std::vector<ExternalTensor>> external_tensors(ByteView model, std::string_view record);

// Whether an ONNX model of so many bytes, its external data apart, can be written. Errors: limit_exceeded (2 GiB).
[[nodiscard]] Status check_model_size(std::size_t bytes);

// A model in a file, to be packed. The order of what has none is that of names, so that equal models are equal bytes.
class StagedGraph {
 public:
  // Errors: not_found, malformed.
  [[nodiscard]] static Result<StagedGraph> read(const std::string& path);
  ~StagedGraph();
  StagedGraph(StagedGraph&&) noexcept;
  StagedGraph& operator=(StagedGraph&&) noexcept;

  // Those that lie outside, always in the same order. Tensors of graphs inside of the graph lie in the model.
  [[nodiscard]] const std::vector<ExternalTensor>& tensors() const noexcept { return tensors_; }
  // Points the tensor with this index to another place.
  void point(std::size_t index, const std::string& location, std::uint64_t offset);
  // The same bytes for the same model. Errors: limit_exceeded (above 2 GiB).
  [[nodiscard]] Result<std::vector<std::byte>> bytes() const;

 private:
  struct Impl;
  explicit StagedGraph(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
  std::vector<ExternalTensor> tensors_;
};

}  // namespace fatctx::ort
