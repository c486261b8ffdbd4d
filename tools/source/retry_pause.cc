#include "tools/source/retry_pause.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace fatctx::tools {

Status pause_before_retry(std::uint32_t tries, const HttpOptions& options) {
  constexpr std::chrono::milliseconds kFirst{250};
  const auto until = std::chrono::steady_clock::now() + kFirst * (1U << std::min(tries - 1, 5U));
  while (std::chrono::steady_clock::now() < until) {
    if (options.cancel != nullptr && options.cancel->load()) {
      return Error{ErrorCode::kCancelled, "the command was cancelled"};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return Done{};
}

}  // namespace fatctx::tools
