// Maps weight blobs of a container to external data files of a model, and checks that they match the model. Independent
// of ONNX Runtime.
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
  RecordInfo record;     // its texts borrow from the container
  std::string location;  // empty: not known
  std::optional<TensorTable> table;
  std::vector<std::string> untyped;  // tensors of types that a tensor table cannot express
};

// Returns the requested blobs, or all blobs with a location. Reads no payload except tables.
// Errors: see attach_weights().
[[nodiscard]] Result<std::vector<ChosenBlob>> choose_blobs(const Container& container,
                                                           const std::vector<AttachFile>& files, AttachRoute route);

// Checks that the blobs contain the tensors of a model where the model expects them.
// Errors: not_found, invalid_argument, unsupported; each names the tensor and says what the blob contains.
[[nodiscard]] Status compare_with_model(const Container& container, const std::vector<ChosenBlob>& blobs,
                                        const std::vector<ModelTensor>& tensors, AttachRoute route);

// Returns the alignment in bytes that an element of the type needs, so that ONNX Runtime uses it in place.
[[nodiscard]] std::uint64_t alignment_of(DType dtype) noexcept;

}  // namespace fatctx::ort
