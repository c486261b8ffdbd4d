// Repeats system calls that a signal interrupted before they did anything.
#pragma once

#include <cerrno>

namespace fatctx::mapping {

// Calls again as long as the result is EINTR. Not for close and fsync, which may have done their work by then.
template <typename Call>
[[nodiscard]] auto uninterrupted(const Call& call) noexcept {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

}  // namespace fatctx::mapping
