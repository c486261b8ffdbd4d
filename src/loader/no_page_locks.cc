// The loader locks no pages in memory.
#include "mapping/page_lock_calls.h"

namespace fatctx::mapping {

bool holds_locks(PageRange /*pages*/) { return false; }

}  // namespace fatctx::mapping
