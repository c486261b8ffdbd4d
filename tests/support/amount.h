// The amount of work that a test does: a number from the environment, for longer runs than those of ./check.
#pragma once

#include <cstdlib>

namespace fatctx::support {

[[nodiscard]] inline int amount(const char* variable, int ordinary) {
  const char* asked = std::getenv(variable);
  return asked == nullptr ? ordinary : std::atoi(asked);
}

}  // namespace fatctx::support
