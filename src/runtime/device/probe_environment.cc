// The only place of the library that reads the environment, for callers that ask for it.
#include <cstdlib>

#include "runtime/device/probe.h"

namespace fatctx::runtime {

std::optional<std::string> environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace fatctx::runtime
