#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/page_advice.h"
#include "mapping/page_lock_calls.h"
#include "mapping/page_range.h"
#include "mapping/read_through.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {

// The system can read ahead in large pieces, but it reports no errors and maps no page into this process. Reading
// through the handle waits and reports errors.
Result<PopulateMethod> populate_at(const OsFile& file, ByteView bytes, std::uint64_t file_offset) {
  if (bytes.empty()) return PopulateMethod::kPopulate;
  const PageRange pages = pages_around(bytes, {0, bytes.size()});
  WIN32_MEMORY_RANGE_ENTRY range = {pages.start(), pages.size()};
  (void)::PrefetchVirtualMemory(::GetCurrentProcess(), 1, &range, 0);
  FATCTX_TRY(read_through(file, {file_offset, bytes.size()}));
  return PopulateMethod::kReadAhead;
}

// Unlocking pages that are not locked removes them from the working set; they come back from the cache or the file.
Result<std::uint64_t> drop_pages(ByteView mapped, ByteRange range) {
  const PageRange pages = pages_inside(mapped, range);
  if (pages.size() == 0) return std::uint64_t{0};
  if (holds_locks(pages)) {
    return Error{
        ErrorCode::kOperationNotPermitted,
        fmt::format("{} bytes from byte {:#x} are locked into memory; drop the lock first", range.size, range.offset),
        {.file_offset = range.offset}};
  }
  if (::VirtualUnlock(pages.start(), pages.size()) == 0 && ::GetLastError() != ERROR_NOT_LOCKED) {
    return os_error(static_cast<int>(::GetLastError()), "cannot give back mapped pages");
  }
  return std::uint64_t{pages.size()};
}

// Windows has no such request.
void drop_cache(const OsFile& /*file*/, ByteRange /*range*/) noexcept {}

}  // namespace fatctx::mapping
