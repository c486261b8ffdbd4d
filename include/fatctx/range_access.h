// Gives parts of a record to backends that call back for them. A backend passes an offset and a size, gets a pointer,
// and releases it later.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "fatctx/view.h"

namespace fatctx {

// A range as a backend gets it. Devices import whole pages: `aligned` begins at or before the requested byte, on a page
// of 4 KiB of the record.
struct ProvidedRange {
  std::uint64_t id = 0;             // for release(); never 0, never used again
  const std::byte* data = nullptr;  // the requested bytes
  std::uint64_t size_bytes = 0;
  ByteView aligned;              // whole pages around them, as far as the record goes
  std::uint64_t data_start = 0;  // of `data` in `aligned`
};

struct RangeHooks {
  // Registers the pages with a device. An error refuses the range; released() is then not called for it.
  std::function<Status(ByteView aligned)> provided;
  // Undoes the registration: once for each provided range, at release(), or when the last owner is destroyed. Must not
  // throw.
  std::function<void(ByteView aligned)> released;
};

// Ownership: copyable; copies share the ranges. It holds the view, and so the mapping, until the last copy and the last
//            range are gone: hand a copy to the callback's context, and nothing can be unmapped under a backend.
// Threads:   every member from any number of threads. Hooks are called without a lock held, on the calling thread.
class RangeAccess {
 public:
  explicit RangeAccess(RecordView view, RangeHooks hooks = {});

  [[nodiscard]] std::uint64_t size_bytes() const noexcept;
  // Provides a range. `offset` and `size_bytes` count from the first byte of the record.
  // Errors: invalid_argument (an empty range, or one that leaves the record), those of the hook.
  [[nodiscard]] Result<ProvidedRange> provide(std::uint64_t offset, std::uint64_t size_bytes) const;
  // Gives a range back. Errors: stale_handle (never provided, or released already).
  [[nodiscard]] Status release(std::uint64_t id) const;
  // Returns the number of ranges that were provided and not released.
  [[nodiscard]] std::size_t outstanding() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace fatctx
