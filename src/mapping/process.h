// The identity of this process: resources of one must not be used in a child that was forked from it.
#pragma once

#include <cstdint>

namespace fatctx::mapping {

[[nodiscard]] std::int64_t process_id() noexcept;

}  // namespace fatctx::mapping
