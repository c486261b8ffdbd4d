#include "mapping/address_space.h"

#include <cstddef>
#include <limits>

#include <fmt/format.h>

namespace fatctx::mapping {

Status check_address_space(std::uint64_t size_bytes) {
  if (size_bytes <= std::numeric_limits<std::size_t>::max() / 2) return Done{};
  return Error{ErrorCode::kNoResource, fmt::format("{} bytes do not fit into this address space", size_bytes)};
}

}  // namespace fatctx::mapping
