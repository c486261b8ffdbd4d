// The work of a load, on whatever thread does it.
#pragma once

#include <atomic>
#include <cstdint>

#include "fatctx/load.h"
#include "runtime/open/load_input.h"

namespace fatctx {

// Everything but `signal`, `notify` and `progress` of the options counts. `total_bytes` is what will be read at most,
// once that is known. Errors: those of load_context().
[[nodiscard]] Result<LoadedContext> load_work(const LoadInput& input, const LoadOptions& options,
                                              std::atomic<std::uint64_t>& total_bytes);

}  // namespace fatctx
