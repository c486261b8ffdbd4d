// The boundary to ONNX Runtime. Errors and exceptions become its status here; no exception of ours crosses the
// boundary.
#pragma once

#include "fatctx/base/result.h"
#include "runtime/ort/graph/api.h"

namespace fatctx::ort {

// Returns the code on which callers of ONNX Runtime branch. An unusable container is INVALID_GRAPH, as for other
// execution providers. A wrong option is INVALID_ARGUMENT. A lost backend that comes back is ENGINE_ERROR.
[[nodiscard]] OrtErrorCode ort_code(ErrorCode code) noexcept;
[[nodiscard]] OrtStatus* to_status(const Error& error) noexcept;
// Converts the current exception. Requires: called inside a catch block.
[[nodiscard]] OrtStatus* status_of_exception() noexcept;

// Calls `work`, which returns a Status. Returns null on success.
template <typename Work>
[[nodiscard]] OrtStatus* guarded(const Work& work) noexcept {
  try {
    Status status = work();
    return status.ok() ? nullptr : to_status(status.error());
  } catch (...) {
    return status_of_exception();
  }
}

}  // namespace fatctx::ort
