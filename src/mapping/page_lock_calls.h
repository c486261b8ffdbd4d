// The system calls below PageLock, for the files of this folder only.
#pragma once

#include "fatctx/base/result.h"
#include "mapping/page_range.h"

namespace fatctx::mapping {

// Not counted: one unlock undoes every lock of a page. A refusal may leave a part locked. Errors: those of
// PageLock::of.
[[nodiscard]] Status lock_pages(PageRange pages);
void unlock_pages(PageRange pages) noexcept;

// True if a PageLock holds one of the pages.
[[nodiscard]] bool holds_locks(PageRange pages);

}  // namespace fatctx::mapping
