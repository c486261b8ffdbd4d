// The pause between two tries of a request.
#pragma once

#include <cstdint>

#include "fatctx/base/result.h"
#include "tools/source/byte_source.h"

namespace fatctx::tools {

// Waits before another try, after `tries` that failed: 250 ms, and twice as long each time. Errors: cancelled.
[[nodiscard]] Status pause_before_retry(std::uint32_t tries, const HttpOptions& options);

}  // namespace fatctx::tools
