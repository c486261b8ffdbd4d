#include "mapping/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "mapping/file_lock.h"
#include "mapping/filesystem_kind.h"
#include "mapping/os_error.h"
#include "mapping/os_file_posix.h"
#include "mapping/uninterrupted.h"

namespace fatctx::mapping {

Result<std::unique_ptr<OsFile>> open_for_appending(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return Error{ErrorCode::kInvalidArgument, "a path must not contain a NUL character"};
  }
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  UniqueFd fd(uninterrupted([&] { return ::open(path.c_str(), kFlags); }));
  if (!fd.valid()) {
    const int number = errno;
    Error error = os_error(number, fmt::format("cannot open {} for writing", path));
    if (number == EACCES || number == EPERM || number == EROFS) error.code = ErrorCode::kOperationNotPermitted;
    if (number == ENXIO) error.code = ErrorCode::kNotRegularFile;
    return error;
  }
  auto file = std::make_unique<PosixFile>(std::move(fd), path);
  FATCTX_ASSIGN(const FileIdentity identity, file->identity());
  if (!identity.regular) return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path)};
  const FilesystemKind kind = filesystem_kind(file->descriptor());
  if (kind.remote) {
    return Error{ErrorCode::kRemoteFilesystem,
                 fmt::format("{} lies on a {} file system, where nobody promises the order of writes; change it on a "
                             "local disk and copy the result",
                             path, kind.name)};
  }
  const int refused = try_lock(file->descriptor(), FileLock::kExclusive);
  if (refused == EAGAIN || refused == EACCES) {
    return Error{ErrorCode::kLocked,
                 fmt::format("{}: another process or thread is writing to it; try again when it is done", path),
                 {.os_error = refused}};
  }
  if (refused != 0) {
    Error error =
        os_error(refused, fmt::format("{} cannot be locked, so that nothing is changed in place; work on a copy "
                                      "on another file system",
                                      path));
    error.code = ErrorCode::kUnsupported;
    return error;
  }
  return std::unique_ptr<OsFile>(std::move(file));
}

}  // namespace fatctx::mapping
