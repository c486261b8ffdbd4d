#include "runtime/open/step_watch.h"

namespace fatctx {

thread_local const StepWatch* StepWatch::current_ = nullptr;

Status StepWatch::step(std::uint64_t bytes) {
  if (current_ == nullptr) return Done{};
  current_->done_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (!current_->stop_.load(std::memory_order_relaxed)) return Done{};
  return Error{ErrorCode::kCancelled, "the load was stopped"};
}

}  // namespace fatctx
