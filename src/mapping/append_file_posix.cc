#include "mapping/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

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
  // A reader holds the file still for the moment (still_file.h): waits for it, but not for anything else.
  if (!fd.valid() && errno == EWOULDBLOCK) {
    const auto known = stat_path(path, {.follow_symlinks = false});
    errno = EWOULDBLOCK;
    if (known.ok() && known.value().regular) {
      fd = UniqueFd(uninterrupted([&] { return ::open(path.c_str(), kFlags & ~O_NONBLOCK); }));
    }
  }
  if (!fd.valid()) {
    const int number = errno;
    if (number == ELOOP) {
      return Error{ErrorCode::kNotRegularFile,
                   fmt::format("{}: a link; name the file that it leads to", path),
                   {.os_error = number}};
    }
    Error error = os_error(number, fmt::format("cannot open {} for writing", path));
    if (number == EACCES || number == EPERM || number == EROFS || number == ETXTBSY)
      error.code = ErrorCode::kOperationNotPermitted;
    if (number == ENXIO) error.code = ErrorCode::kNotRegularFile;
    return error;
  }
  auto file = std::make_unique<PosixFile>(std::move(fd), path);
  FATCTX_ASSIGN(const FileIdentity identity, file->identity());
  if (!identity.regular) return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path)};
  FATCTX_TRY(check_local(filesystem_kind(file->descriptor()), path));
  const int refused = try_lock(file->descriptor(), FileLock::kExclusive);
  if (refused == EAGAIN || refused == EACCES) {
    return Error{ErrorCode::kLocked,
                 fmt::format("{}: another process or thread is writing to it; try again when it is done", path),
                 {.os_error = refused}};
  }
  if (refused == ENOLCK || refused == EINVAL || refused == ENOSYS || refused == EOPNOTSUPP) {
    Error error =
        os_error(refused, fmt::format("{} cannot be locked, so that nothing is changed in place; work on a copy "
                                      "on another file system",
                                      path));
    error.code = ErrorCode::kUnsupported;
    return error;
  }
  if (refused != 0) return os_error(refused, fmt::format("cannot lock {}", path));
  // A rewrite may have replaced the file by another one. Bytes appended to a nameless file would be lost.
  auto named = stat_path(path, {.follow_symlinks = false});
  if (!named.ok()) return in_context(std::move(named).error(), path);
  if (named.value().device != identity.device || named.value().inode != identity.inode) {
    return Error{ErrorCode::kChanged,
                 fmt::format("{}: another file took its place while it was opened; open it again", path)};
  }
  return std::unique_ptr<OsFile>(std::move(file));
}

}  // namespace fatctx::mapping
