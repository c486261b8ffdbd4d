#include "mapping/private_file.h"

#include <fmt/format.h>

#include "mapping/owner_only_win32.h"
#include "mapping/unique_handle.h"

namespace fatctx::mapping {

Status check_private(const OsFile& file) {
  FATCTX_ASSIGN(const std::string stranger, stranger_with_access(handle_of(file.descriptor())));
  if (stranger.empty()) return Done{};
  return Error{
      ErrorCode::kOperationNotPermitted,
      fmt::format("its access list gives {} access, who may have read or changed it; a secret is for its owner "
                  "alone: make a new one, or run `icacls FILE /inheritance:r /grant:r \"%USERNAME%\":F` if you "
                  "know that nobody has",
                  stranger)};
}

}  // namespace fatctx::mapping
