#include "fatctx/load_signal.h"

#include <fmt/format.h>

#include "runtime/open/load_signal_state.h"

namespace fatctx {

LoadSignal::LoadSignal() : state_(std::make_shared<State>()) {}

LoadSignal::LoadSignal(std::chrono::milliseconds timeout) : LoadSignal() {
  state_->timeout_ms.store(timeout.count(), std::memory_order_relaxed);
}

void LoadSignal::cancel() { state_->stop.request(); }

bool LoadSignal::cancelled() const noexcept { return state_->stop.requested(); }

bool LoadSignal::in_use() const noexcept { return state_->in_use.load(std::memory_order_acquire); }

Status LoadSignal::set_timeout(std::chrono::milliseconds timeout) {
  if (timeout.count() < 0) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("a timeout of {} ms; 0 means no limit, and a positive number is a limit", timeout.count())};
  }
  const SignalUse use(*state_);
  if (!use.mine()) {
    return Error{ErrorCode::kOperationNotPermitted,
                 "a call that is going on uses the signal; set its timeout before or after that call"};
  }
  state_->timeout_ms.store(timeout.count(), std::memory_order_relaxed);
  return Done{};
}

Status LoadSignal::reset() {
  const SignalUse use(*state_);
  if (!use.mine()) {
    return Error{ErrorCode::kOperationNotPermitted, "a call that is going on uses the signal; reset it afterwards"};
  }
  state_->stop.take_back();
  return Done{};
}

}  // namespace fatctx
