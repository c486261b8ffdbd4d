// Counts the memory that operator new returns. heap_count.cc replaces the operators of the program that links
// it.
#pragma once

#include <cstdint>

namespace fatctx::bench {

// Returns the bytes that are allocated at present, including the allocator's rounding.
[[nodiscard]] std::int64_t live_heap_bytes() noexcept;

}  // namespace fatctx::bench
