// The system calls of PageLock, for the files of this folder, and for builds that lock no pages.
#pragma once

#include "fatctx/base/result.h"
#include "mapping/page_range.h"

namespace fatctx::mapping {

// Locks pages without a count: one unlock undoes every lock of a page. After an error a part may stay locked.
// Errors: those of PageLock::of.
[[nodiscard]] Status lock_pages(PageRange pages);
void unlock_pages(PageRange pages) noexcept;

// Returns whether a PageLock holds one of the pages.
[[nodiscard]] bool holds_locks(PageRange pages);

}  // namespace fatctx::mapping
