#include "container/sharing/work_progress.h"

#include <algorithm>

namespace fatctx::container {
namespace {

Error stopped() { return {ErrorCode::kCancelled, "it was stopped"}; }

}  // namespace

void WorkProgress::begin(std::uint64_t total_bytes) noexcept {
  done_.store(0, std::memory_order_relaxed);
  total_.store(total_bytes, std::memory_order_relaxed);
  told_ = 0;
}

Status WorkProgress::add_little(std::uint64_t bytes) {
  constexpr std::uint64_t kStep = std::uint64_t{1} << 20;
  if (!progress_ || std::this_thread::get_id() != caller_) return add(bytes);
  const std::uint64_t done = done_.load(std::memory_order_relaxed) + bytes;
  const std::uint64_t total = total_.load(std::memory_order_relaxed);
  if (done >= told_ + kStep || (done >= total && told_ < total)) {
    told_ = done;
    return add(bytes);
  }
  done_.fetch_add(bytes, std::memory_order_relaxed);
  return stopped_.load(std::memory_order_relaxed) ? Status(stopped()) : Status(Done{});
}

Status WorkProgress::add(std::uint64_t bytes) {
  const std::uint64_t done = done_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (stopped_.load(std::memory_order_relaxed)) return stopped();
  if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) {
    return Error{ErrorCode::kCancelled, "it was cancelled"};
  }
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
