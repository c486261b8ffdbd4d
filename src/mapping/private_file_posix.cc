#include <sys/stat.h>

#include <cerrno>

#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/private_file.h"

namespace fatctx::mapping {

Status check_private(const OsFile& file) {
  struct stat st = {};
  if (::fstat(file.descriptor(), &st) != 0) return os_error(errno, "cannot look at the mode");
  if ((st.st_mode & 0077U) == 0) return Done{};
  return Error{ErrorCode::kOperationNotPermitted,
               fmt::format("its mode is {:04o}, and somebody else may have read or changed it; a secret has mode 0600: "
                           "make a new one, or `chmod 600` it if you know that nobody has",
                           st.st_mode & 07777U)};
}

}  // namespace fatctx::mapping
