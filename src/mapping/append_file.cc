#include "mapping/append_file.h"

#include <fmt/format.h>

namespace fatctx::mapping {

Status check_local(const FilesystemKind& kind, const std::string& path) {
  if (!kind.remote) return Done{};
  return Error{ErrorCode::kRemoteFilesystem,
               fmt::format("{} lies on a file system of kind {}, where nobody promises the order of writes; change "
                           "it on a local disk and copy the result",
                           path, kind.name)};
}

}  // namespace fatctx::mapping
