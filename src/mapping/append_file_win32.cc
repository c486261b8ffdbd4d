// The share mode of the open is the lock: another process cannot open the file for writing. The system releases it with
// the handle, even if the process is killed. A fork cannot inherit it.
#include "mapping/append_file.h"

#include <fmt/format.h>

#include "mapping/filesystem_kind.h"
#include "mapping/os_error.h"
#include "mapping/os_file_win32.h"
#include "mapping/wide_text.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {
namespace {

// Other processes may read, rename and remove the file meanwhile.
constexpr DWORD kShareButWriting = FILE_SHARE_READ | FILE_SHARE_DELETE;

Error cannot_open(int number, const std::string& path, const std::wstring& wide) {
  const DWORD there = ::GetFileAttributesW(wide.c_str());
  if (there != INVALID_FILE_ATTRIBUTES && (there & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE)) != 0) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path), {.os_error = number}};
  }
  if (number == ERROR_SHARING_VIOLATION || number == ERROR_LOCK_VIOLATION) {
    return Error{ErrorCode::kLocked,
                 fmt::format("{}: another process or thread is writing to it; try again when it is done", path),
                 {.os_error = number}};
  }
  Error error = os_error(number, fmt::format("cannot open {} for writing", path));
  if (number == ERROR_ACCESS_DENIED || number == ERROR_WRITE_PROTECT) error.code = ErrorCode::kOperationNotPermitted;
  return error;
}

}  // namespace

Result<std::unique_ptr<OsFile>> open_for_appending(const std::string& path) {
  FATCTX_ASSIGN(const std::wstring wide, wide_path(path));
  // Opens a link as itself, to refuse it. The listener of a pipe must not act in our name.
  constexpr DWORD kHow =
      FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION;
  UniqueHandle handle(::CreateFileW(wide.c_str(), GENERIC_READ | GENERIC_WRITE, kShareButWriting, nullptr,
                                    OPEN_EXISTING, kHow, nullptr));
  if (!handle.valid()) return cannot_open(static_cast<int>(::GetLastError()), path, wide);
  if (is_link(handle.get())) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: a link; name the file that it leads to", path)};
  }
  // Windows has refused a read-only file by now, but Wine lets the superuser open it.
  const DWORD attributes = ::GetFileAttributesW(wide.c_str());
  if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_READONLY) != 0 &&
      (attributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
    return cannot_open(ERROR_ACCESS_DENIED, path, wide);
  }
  auto file = std::make_unique<Win32File>(std::move(handle), path);
  FATCTX_ASSIGN(const FileIdentity identity, file->identity());
  if (!identity.regular) return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path)};
  FATCTX_TRY(check_local(filesystem_kind(file->descriptor()), path));
  return std::unique_ptr<OsFile>(std::move(file));
}

}  // namespace fatctx::mapping
