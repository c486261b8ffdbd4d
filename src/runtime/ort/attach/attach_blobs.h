// Which weight blobs of a container stand for which external data files, and whether they are what a model wants. Knows
// nothing of ONNX Runtime.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/onnxruntime.h"
#include "runtime/ort/attach/attach_model.h"

namespace fatctx::ort {

struct ChosenBlob {
  RecordInfo record;     // borrows from the container
  std::string location;  // empty: none is known
  std::optional<TensorTable> table;
  std::vector<std::string> untyped;  // tensors whose type no tensor table has
};

// The blobs that are asked for, or all with a location. Reads no payload, but for tables.
// Errors: see attach_weights().
[[nodiscard]] Result<std::vector<ChosenBlob>> choose_blobs(const Container& container,
                                                           const std::vector<AttachFile>& files, AttachRoute route);

// Whether the tensors of a model lie in the blobs where the model has them.
// Errors: not_found, invalid_argument, unsupported; each names the tensor, and says what there is.
[[nodiscard]] Status compare_with_model(const Container& container, const std::vector<ChosenBlob>& blobs,
                                        const std::vector<ModelTensor>& tensors, AttachRoute route);

// Bytes whose multiples an element of the type must lie on, so that ONNX Runtime takes it where it is.
[[nodiscard]] std::uint64_t alignment_of(DType dtype) noexcept;

}  // namespace fatctx::ort
