#include "mapping/append_file.h"

#include <fmt/format.h>

#include "mapping/same_file.h"

namespace fatctx::mapping {

Status check_local(const FilesystemKind& kind, const std::string& path) {
  if (!kind.remote) return Done{};
  return Error{ErrorCode::kRemoteFilesystem,
               fmt::format("{} is on a file system of kind {}, which does not promise the order of writes; change "
                           "it on a local disk and copy the result",
                           path, kind.name)};
}

Result<std::unique_ptr<OsFile>> lock_for_replacing(const std::string& path) {
  auto locked = open_for_appending(path);
  if (locked.ok()) return locked;
  switch (locked.error().code) {
    case ErrorCode::kNotFound:
    case ErrorCode::kNotRegularFile:
    case ErrorCode::kOperationNotPermitted:
    case ErrorCode::kRemoteFilesystem:
    case ErrorCode::kUnsupported:
      return std::unique_ptr<OsFile>();
    default:
      return locked;
  }
}

Status check_named(const OsFile& file, const std::string& path) {
  FATCTX_ASSIGN(const FileIdentity opened, file.identity());
  const auto named = stat_path(path, {.follow_symlinks = false});
  if (!named.ok() && named.error().code != ErrorCode::kNotFound) return named.error();
  if (named.ok() && is_same_file(opened, named.value())) return Done{};
  return Error{ErrorCode::kChanged, fmt::format("{} does not name the file any more that was opened by it", path)};
}

}  // namespace fatctx::mapping
