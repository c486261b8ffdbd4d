// Raw calls: Boost.Interprocess cannot lock pages.
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>

#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/page_lock_calls.h"

namespace fatctx::mapping {
namespace {

Error lock_error(int error_number, std::size_t size) {
  rlimit limit{};
  const bool refused = error_number == ENOMEM || error_number == EPERM || error_number == EAGAIN;
  if (!refused) return os_error(error_number, fmt::format("cannot lock {} bytes into memory", size));
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    Error error = os_error(error_number, fmt::format("cannot lock {} bytes into memory", size));
    error.code = ErrorCode::kNoResource;
    return error;
  }
  return Error{
      ErrorCode::kNoResource,
      fmt::format("cannot lock {} bytes into memory: RLIMIT_MEMLOCK allows this process {} bytes in all; raise it "
                  "(ulimit -l, in KiB) or go on without the lock",
                  size, limit.rlim_cur),
      {.os_error = error_number}};
}

}  // namespace

Status lock_pages(PageRange pages) {
  if (::mlock(pages.start(), pages.size()) != 0) return lock_error(errno, pages.size());
  return Done{};
}

void unlock_pages(PageRange pages) noexcept { (void)::munlock(pages.start(), pages.size()); }

}  // namespace fatctx::mapping
