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

// Memory that can be written to. All of it is reserved at once: a lack of it is an error here and not a signal later.
// Ownership: the caller's, who gives it to free_block(). Errors: unsupported (no sealed memory on this system),
// out_of_memory, no_resource.
[[nodiscard]] Result<SealableBlock> make_sealable_block(std::uint64_t size_bytes);
// Takes every way of writing away: through this map, through another one, through the descriptor. For good.
[[nodiscard]] Status seal(const SealableBlock& block);
void free_block(const SealableBlock& block) noexcept;

}  // namespace fatctx::mapping
