// Prefetch of several records together, and of any work on its own thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fatctx/container.h"

namespace fatctx {

// Prefetches the records in the given order. Errors: those of Container::prefetch.
[[nodiscard]] Result<PrefetchReport> prefetch_records(const Container& container,
                                                      std::span<const std::uint32_t> record_ids,
                                                      const PrefetchOptions& options);
[[nodiscard]] Result<PrefetchHandle> prefetch_records_in_background(const Container& container,
                                                                    std::vector<std::uint32_t> record_ids,
                                                                    PrefetchOptions options);

// The work of a prefetch thread. It must own everything it uses.
using PrefetchWork =
    std::function<Result<PrefetchReport>(const std::atomic<bool>& cancel, std::atomic<std::uint64_t>& done_bytes)>;
// Runs the work on its own thread. Errors: no_resource (no thread).
[[nodiscard]] Result<PrefetchHandle> start_prefetch(PrefetchWork work);

}  // namespace fatctx
