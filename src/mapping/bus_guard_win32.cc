// There is no guard on Windows: the system refuses to truncate a mapped file, so the case does not occur. A disk or
// server that fails under a map raises EXCEPTION_IN_PAGE_ERROR, and a handler could not put zeros there. A view can
// only be unmapped as a whole, and until new memory replaced it, other threads would fault for good.
#include "mapping/bus_guard.h"

namespace fatctx::mapping {

BusWatch::BusWatch(ByteView /*mapped*/, std::atomic<bool>* /*also_lost*/) : range_(nullptr) {}
BusWatch::~BusWatch() = default;
bool BusWatch::lost() const noexcept { return range_ != nullptr; }

Status install_bus_guard() {
  return Error{
      ErrorCode::kUnsupported,
      "Windows has no guard of mapped files: it does not let a mapped file be cut; for files on servers that may "
      "fail, open with file mapping \"disabled\" to copy"};
}

bool bus_guard_installed() noexcept { return false; }
bool bus_guard_in_charge() noexcept { return false; }
std::uint64_t bus_guard_losses() noexcept { return 0; }

}  // namespace fatctx::mapping
