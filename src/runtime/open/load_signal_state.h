// The state of a LoadSignal.
#pragma once

#include <atomic>
#include <cstdint>

#include "fatctx/load_signal.h"
#include "runtime/open/stop_source.h"

namespace fatctx {

struct LoadSignal::State {
  StopSource stop;
  std::atomic<bool> in_use{false};
  std::atomic<std::int64_t> timeout_ms{0};
};

// The use of a signal by one call. At most one call uses a signal at a time.
class SignalUse {
 public:
  explicit SignalUse(LoadSignal::State& signal) noexcept
      : signal_(signal), mine_(!signal.in_use.exchange(true, std::memory_order_acq_rel)) {}
  ~SignalUse() {
    if (mine_) signal_.in_use.store(false, std::memory_order_release);
  }
  SignalUse(const SignalUse&) = delete;
  SignalUse& operator=(const SignalUse&) = delete;

  // Returns false if another call uses the signal.
  [[nodiscard]] bool mine() const noexcept { return mine_; }

 private:
  LoadSignal::State& signal_;
  bool mine_;
};

}  // namespace fatctx
