// The callback through which a long call reports its progress.
#pragma once

#include <cstdint>
#include <functional>

namespace fatctx {

// Reports the progress of long work; called on the calling thread only. Work that reads the bytes more than once, as
// packing does, begins again at 0 for each pass, with the total of that pass.
using Progress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

}  // namespace fatctx
