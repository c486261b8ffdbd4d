#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/page_lock_calls.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {

Status lock_pages(PageRange pages) {
  if (::VirtualLock(pages.start(), pages.size()) != 0) return Done{};
  const DWORD error = ::GetLastError();
  SIZE_T least = 0;
  SIZE_T most = 0;
  if (error != ERROR_WORKING_SET_QUOTA || ::GetProcessWorkingSetSize(::GetCurrentProcess(), &least, &most) == 0) {
    Error failed = os_error(static_cast<int>(error), fmt::format("cannot lock {} bytes into memory", pages.size()));
    failed.code = ErrorCode::kNoResource;
    return failed;
  }
  return Error{
      ErrorCode::kNoResource,
      fmt::format("cannot lock {} bytes into memory: the minimum working set of this process is {} bytes; raise it "
                  "(SetProcessWorkingSetSize) or go on without the lock",
                  pages.size(), least),
      {.os_error = static_cast<int>(error)}};
}

void unlock_pages(PageRange pages) noexcept { (void)::VirtualUnlock(pages.start(), pages.size()); }

}  // namespace fatctx::mapping
