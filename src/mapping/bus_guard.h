// The opt-in guard against SIGBUS. With it, a map of a truncated file reads as zeros and reports the loss, instead of
// ending the process.
//
// Every map is watched, even before the guard is installed, so that it may be installed at any time.
#pragma once

#include <atomic>
#include <cstdint>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::mapping {

struct WatchedRange;

// A registration of a map with the guard.
//
// Ownership: the caller owns the bytes. The watch must end before they are unmapped: otherwise a later map of other
// code at the same address would be mistaken for this one.
class BusWatch {
 public:
  // Throws std::bad_alloc. `also_lost` (may be null) is set when lost() becomes true, and must outlive the watch.
  explicit BusWatch(ByteView mapped, std::atomic<bool>* also_lost = nullptr);
  BusWatch(BusWatch&& other) noexcept : range_(other.range_) { other.range_ = nullptr; }
  BusWatch& operator=(BusWatch&&) = delete;
  ~BusWatch();

  // Returns true once a reader has met lost bytes. Sticky. May be called from any thread.
  [[nodiscard]] bool lost() const noexcept;

 private:
  WatchedRange* range_;
};

// Installs the guard for the whole process, for good: a handler that was installed later may call ours. Other faults go
// to the handler that was installed before. Errors: those of sigaction.
[[nodiscard]] Status install_bus_guard();
[[nodiscard]] bool bus_guard_installed() noexcept;
// Returns whether the guard is installed and the system calls it first: a handler that was installed later need not
// pass faults on.
[[nodiscard]] bool bus_guard_in_charge() noexcept;
// Returns how many maps have lost bytes so far.
[[nodiscard]] std::uint64_t bus_guard_losses() noexcept;

}  // namespace fatctx::mapping
