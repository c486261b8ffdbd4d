// Counts what operator new hands out. heap_count.cc replaces the operators of the program it is linked into.
#pragma once

#include <cstdint>

namespace fatctx::bench {

// Bytes that are handed out at present, with what the allocator rounds them up to.
[[nodiscard]] std::int64_t live_heap_bytes() noexcept;

}  // namespace fatctx::bench
