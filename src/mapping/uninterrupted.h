// System calls that a signal may interrupt before they have done anything.
#pragma once

#include <cerrno>

namespace fatctx::mapping {

// Calls again while the answer is EINTR. Not for close and fsync, which may have done their work by then.
template <typename Call>
[[nodiscard]] auto uninterrupted(const Call& call) noexcept {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

}  // namespace fatctx::mapping
