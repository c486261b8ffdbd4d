// Checks sizes against the addresses that this process can use.
#pragma once

#include <cstdint>

#include "fatctx/base/result.h"

namespace fatctx::mapping {

// Checks that so many bytes can be mapped at all. No system hands out more than half of all addresses; a 32-bit one
// meets larger files. Errors: no_resource.
[[nodiscard]] Status check_address_space(std::uint64_t size_bytes);

}  // namespace fatctx::mapping
