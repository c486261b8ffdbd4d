// Windows has no descriptors: there is nothing to close.
#include "mapping/unique_fd.h"

namespace fatctx::mapping {

int UniqueFd::reset() noexcept {
  fd_ = -1;
  return 0;
}

}  // namespace fatctx::mapping
