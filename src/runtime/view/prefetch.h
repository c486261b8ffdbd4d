// Prefetch of several records together, and of anything on a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fatctx/container.h"

namespace fatctx {

// Errors: those of Container::prefetch.
[[nodiscard]] Result<PrefetchReport> prefetch_records(const Container& container,
                                                      std::span<const std::uint32_t> record_ids,
                                                      const PrefetchOptions& options);
[[nodiscard]] Result<PrefetchHandle> prefetch_records_in_background(const Container& container,
                                                                    std::vector<std::uint32_t> record_ids,
                                                                    PrefetchOptions options);

// A prefetch that a thread runs. It must own whatever it uses.
using PrefetchWork =
    std::function<Result<PrefetchReport>(const std::atomic<bool>& cancel, std::atomic<std::uint64_t>& done_bytes)>;
// Errors: no_resource (no thread).
[[nodiscard]] Result<PrefetchHandle> start_prefetch(PrefetchWork work);

}  // namespace fatctx
