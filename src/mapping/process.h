// The identity of this process: a forked child must not use resources of its parent.
#pragma once

#include <cstdint>

namespace fatctx::mapping {

[[nodiscard]] std::int64_t process_id() noexcept;

}  // namespace fatctx::mapping
