// The callback through which a long call reports its progress.
#pragma once

#include <cstdint>
#include <functional>

namespace fatctx {

// Reports the progress of a long check; called on the calling thread only.
using Progress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

}  // namespace fatctx
