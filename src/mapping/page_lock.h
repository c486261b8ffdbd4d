// A lock that keeps pages in memory.
#pragma once

#include <cstdint>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::mapping {

// Holds the pages around some bytes in memory. The system's own lock does not count, so that one unlock would undo
// every lock of the page; this one counts: a page stays locked until the last PageLock that holds it is gone.
//
// Ownership: move-only. The bytes must stay mapped as long as the lock is there.
// Threads:   made and destroyed on any thread. A forked child has no locks (as the system has it), and its copies of
//            these objects do nothing.
class PageLock {
 public:
  // Reads the pages in. Errors: no_resource (the limit RLIMIT_MEMLOCK, which the message gives, or a page that cannot
  // be read); nothing is locked then that was not before.
  [[nodiscard]] static Result<PageLock> of(ByteView bytes);
  PageLock(PageLock&& other) noexcept : id_(other.id_) { other.id_ = 0; }
  PageLock& operator=(PageLock&& other) noexcept;
  ~PageLock();

 private:
  explicit PageLock(std::uint64_t id) noexcept : id_(id) {}
  std::uint64_t id_;  // 0: moved from
};

}  // namespace fatctx::mapping
