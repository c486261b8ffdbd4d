#include "container/check/check_progress.h"

#include <algorithm>

namespace fatctx::container {

Status CheckProgress::add(std::uint64_t bytes) {
  const std::uint64_t done = done_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (stopped_.load(std::memory_order_relaxed)) return Error{ErrorCode::kCancelled, "the check was stopped"};
  if (!progress_ || std::this_thread::get_id() != caller_) return Done{};
  const std::uint64_t total = total_.load(std::memory_order_relaxed);
  try {
    progress_(std::min(done, total), total);
  } catch (...) {
    stopped_.store(true, std::memory_order_relaxed);
    throw;
  }
  return Done{};
}

}  // namespace fatctx::container
