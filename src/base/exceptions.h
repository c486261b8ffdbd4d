// Exceptions at the few places that meet them. The code also compiles with -fno-exceptions. Such a build ends the
// program when memory runs out, and the caller must not throw from a callback.
#pragma once

#include <cstdlib>
#include <new>

#include "fatctx/base/result.h"

#if defined(__cpp_exceptions)
#define FATCTX_EXCEPTIONS 1
#else
#define FATCTX_EXCEPTIONS 0
#endif

namespace fatctx {

[[noreturn]] inline void throw_out_of_memory() {
#if FATCTX_EXCEPTIONS
  throw std::bad_alloc();
#else
  std::abort();
#endif
}

// Returns the Result of `work`. If memory runs out, returns out_of_memory. For threads, whose exceptions nobody could
// catch.
template <typename Work>
[[nodiscard]] auto out_of_memory_as_error(const Work& work) -> decltype(work()) {
#if FATCTX_EXCEPTIONS
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, {}};
  }
#else
  return work();
#endif
}

}  // namespace fatctx
