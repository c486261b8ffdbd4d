// A descriptor is the number of a handle here (unique_handle.h).
#include "mapping/unique_fd.h"

#include "mapping/unique_handle.h"

namespace fatctx::mapping {

int UniqueFd::reset() noexcept { return UniqueHandle(handle_of(std::exchange(fd_, -1))).reset(); }

}  // namespace fatctx::mapping
