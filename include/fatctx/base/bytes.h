// The gate between bytes of a file and the program: views, ranges, and the two range checks all others use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fatctx/base/result.h"

namespace fatctx {

using ByteView = std::span<const std::byte>;  // borrowed; the comment at each use names the owner

struct ByteRange {  // half open; straight from a file, so it may be nonsense
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  friend constexpr bool operator==(ByteRange, ByteRange) noexcept = default;
};

// Returns true if `range` is inside [0, limit). Written so that no sum can wrap.
[[nodiscard]] constexpr bool within(ByteRange range, std::uint64_t limit) noexcept {
  return range.size <= limit && range.offset <= limit - range.size;
}

// Returns the bytes of a range of `whole`. Lifetime: the result borrows from `whole`.
[[nodiscard]] inline Result<ByteView> slice(ByteView whole, ByteRange range) {
  if (!within(range, whole.size())) {
    return Error{ErrorCode::kMalformed, "range leaves its parent", {.file_offset = range.offset}};
  }
  return whole.subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
}

}  // namespace fatctx
