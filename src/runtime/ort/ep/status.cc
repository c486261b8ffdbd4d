#include "runtime/ort/ep/status.h"

#include <new>
#include <string>

namespace fatctx::ort {

OrtErrorCode ort_code(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kInvalidConfig:
      return ORT_INVALID_ARGUMENT;
    case ErrorCode::kBackendRestarted:
      return ORT_ENGINE_ERROR;
    case ErrorCode::kExists:
    case ErrorCode::kNoSpace:
    case ErrorCode::kNoResource:
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kLocked:
    case ErrorCode::kSerialiseFailed:
    case ErrorCode::kCommitUnknown:
    case ErrorCode::kInternal:
      return ORT_FAIL;
    default:
      return ORT_INVALID_GRAPH;
  }
}

OrtStatus* to_status(const Error& error) noexcept {
  try {
    return Ort::GetApi().CreateStatus(ort_code(error.code), ("fatctx: " + to_text(error)).c_str());
  } catch (...) {
    return Ort::GetApi().CreateStatus(ORT_FAIL, "fatctx: out of memory");
  }
}

OrtStatus* status_of_exception() noexcept {
  try {
    throw;
  } catch (const Ort::Exception& error) {
    return Ort::GetApi().CreateStatus(error.GetOrtErrorCode(), error.what());
  } catch (const std::bad_alloc&) {
    return Ort::GetApi().CreateStatus(ORT_FAIL, "fatctx: out of memory (out_of_memory)");
  } catch (const std::exception& error) {
    return Ort::GetApi().CreateStatus(ORT_FAIL, error.what());
  } catch (...) {
    return Ort::GetApi().CreateStatus(ORT_FAIL, "fatctx: an exception of unknown type (internal)");
  }
}

}  // namespace fatctx::ort
