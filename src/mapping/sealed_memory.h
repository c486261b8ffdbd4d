// Anonymous memory that is filled once and that nobody can change afterwards, this process included.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::mapping {

struct SealableBlock {
  std::byte* data = nullptr;  // at a page border; the same address before and after seal()
  std::uint64_t size_bytes = 0;
  int descriptor = -1;
};

// Makes a writable block. Reserves all of it at once, so that a lack of memory is an error here and not a signal later.
// Ownership: the caller must pass it to free_block(). Errors: unsupported (the system has no sealed memory),
// out_of_memory, no_resource.
[[nodiscard]] Result<SealableBlock> make_sealable_block(std::uint64_t size_bytes);
// Forbids writes through this map, through other maps and through the descriptor, for good.
[[nodiscard]] Status seal(const SealableBlock& block);
void free_block(const SealableBlock& block) noexcept;

}  // namespace fatctx::mapping
