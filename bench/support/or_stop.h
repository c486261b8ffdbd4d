// Returns the value of a Result, or ends the bench with a message and exit code 1.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "fatctx/base/result.h"

namespace fatctx::bench {

[[noreturn]] inline void stop(const std::string& message) {
  std::fprintf(stderr, "bench: %s\n", message.c_str());
  std::exit(1);
}

template <typename T>
T or_stop(Result<T> result) {
  if (!result.ok()) stop(result.error().message);
  return std::move(result).value();
}

}  // namespace fatctx::bench
