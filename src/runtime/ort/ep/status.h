// The boundary to ONNX Runtime: errors and exceptions become its status, so that none of ours crosses it otherwise.
#pragma once

#include "fatctx/base/result.h"
#include "runtime/ort/ep/api.h"

namespace fatctx::ort {

// What a caller of ONNX Runtime branches on. A container that cannot be used is INVALID_GRAPH, as it is for other
// execution providers; a wrong option INVALID_ARGUMENT; a backend that was lost and comes back ENGINE_ERROR.
[[nodiscard]] OrtErrorCode ort_code(ErrorCode code) noexcept;
[[nodiscard]] OrtStatus* to_status(const Error& error) noexcept;
// Of the exception that is being handled. Requires: inside a catch block.
[[nodiscard]] OrtStatus* status_of_exception() noexcept;

// Calls `work`, which returns a Status. Null: it went well.
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
