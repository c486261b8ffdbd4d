// The opt-in guard against SIGBUS: a map whose file was truncated reads as zeros and reports it, instead of ending the
// process.
//
// Every map is watched, even before the guard is installed, so that it may be installed at any time.
#pragma once

#include <atomic>
#include <cstdint>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::mapping {

struct WatchedRange;

// A map of a file that the guard knows.
//
// Ownership: the bytes are the caller's. The watch must end before they are unmapped: a later map of other code at the
//            same address would be taken for this one.
class BusWatch {
 public:
  // Throws std::bad_alloc. `also_lost` (may be null) is set when lost() becomes true, and must outlive the watch.
  explicit BusWatch(ByteView mapped, std::atomic<bool>* also_lost = nullptr);
  BusWatch(BusWatch&& other) noexcept : range_(other.range_) { other.range_ = nullptr; }
  BusWatch& operator=(BusWatch&&) = delete;
  ~BusWatch();

  // True once bytes went away under a reader. Sticky. Any thread.
  [[nodiscard]] bool lost() const noexcept;

 private:
  WatchedRange* range_;
};

// Process-wide, and for good: a handler that was installed later may call ours. Faults elsewhere go to the handler
// that was there before. Errors: what sigaction says.
[[nodiscard]] Status install_bus_guard();
[[nodiscard]] bool bus_guard_installed() noexcept;
// How many maps have lost bytes so far.
[[nodiscard]] std::uint64_t bus_guard_losses() noexcept;

}  // namespace fatctx::mapping
