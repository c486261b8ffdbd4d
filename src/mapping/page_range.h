// Ranges of pages as addresses in this process: the units of system calls about memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fatctx/base/bytes.h"

namespace fatctx::mapping {

struct PageRange {  // half open, both on page borders
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  [[nodiscard]] constexpr std::size_t size() const noexcept { return end - begin; }
  // For system calls, which take pages as a pointer; it is never dereferenced.
  [[nodiscard]] void* start() const noexcept {
    return reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr): page arithmetic is on addresses
  }
};

[[nodiscard]] std::size_t page_size() noexcept;

// Returns every page that holds a byte of `range` of `mapped`. Requires: `range` is inside `mapped`.
[[nodiscard]] PageRange pages_around(ByteView mapped, ByteRange range) noexcept;
// Returns the pages completely inside `range`. May be empty. Requires: as above.
[[nodiscard]] PageRange pages_inside(ByteView mapped, ByteRange range) noexcept;

}  // namespace fatctx::mapping
