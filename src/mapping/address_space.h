// Limits of the addresses that this process can use at all.
#pragma once

#include <cstdint>

#include "fatctx/base/result.h"

namespace fatctx::mapping {

// No system hands out more than half of all addresses; a 32-bit one meets files that are larger. Errors: no_resource.
[[nodiscard]] Status check_address_space(std::uint64_t size_bytes);

}  // namespace fatctx::mapping
