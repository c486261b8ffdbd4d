// Locks pages in memory, with a count for each page.
#pragma once

#include <cstdint>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::mapping {

// A lock that keeps the pages of some bytes in memory. The system does not count locks: one unlock would undo every
// lock of a page. This one counts: a page stays locked until the last PageLock that holds it is gone.
//
// Ownership: move-only. The bytes must stay mapped as long as the lock exists.
// Threads: made and destroyed on any thread. The system gives a forked child no locks; its copies of these objects do
// nothing.
class PageLock {
 public:
  // Locks the pages, which reads them in. Errors: no_resource (the limit RLIMIT_MEMLOCK, which the message states, or a
  // page that cannot be read); after an error no more pages are locked than before.
  [[nodiscard]] static Result<PageLock> of(ByteView bytes);
  PageLock(PageLock&& other) noexcept : id_(other.id_) { other.id_ = 0; }
  PageLock& operator=(PageLock&& other) noexcept;
  ~PageLock();

 private:
  explicit PageLock(std::uint64_t id) noexcept : id_(id) {}
  std::uint64_t id_;  // 0: moved from
};

}  // namespace fatctx::mapping
