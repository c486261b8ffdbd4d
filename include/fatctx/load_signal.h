// A signal that stops an open or a load from another thread, or after a time.
#pragma once

#include <chrono>
#include <memory>

#include "fatctx/base/result.h"

namespace fatctx {

// Serves one call at a time, and the next one when that has ended.
//
// Ownership: copyable; copies are the same signal. Threads: every member from any number of threads, none of them from
// a signal handler of the system.
class LoadSignal {
 public:
  LoadSignal();
  explicit LoadSignal(std::chrono::milliseconds timeout);

  // Makes the call that uses it answer cancelled within 100 ms, whatever it waits for. If no call uses it, the next one
  // does.
  void cancel();
  [[nodiscard]] bool cancelled() const noexcept;
  // Makes a call that takes longer answer timed_out; 0: no limit. The time counts from the call.
  // Errors: operation_not_permitted (a call uses it), invalid_argument (below 0).
  [[nodiscard]] Status set_timeout(std::chrono::milliseconds timeout);
  // Takes back a cancel. Errors: operation_not_permitted (a call uses it).
  [[nodiscard]] Status reset();
  [[nodiscard]] bool in_use() const noexcept;

  // The state that copies share. Only the library's own files complete this type.
  struct State;
  [[nodiscard]] const std::shared_ptr<State>& state() const& noexcept { return state_; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace fatctx
