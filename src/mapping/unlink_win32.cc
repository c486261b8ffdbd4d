#include "mapping/unlink_win32.h"

#include "mapping/unique_handle.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {
namespace {

// FILE_DISPOSITION_INFO_EX of newer headers.
struct RemoveRequest {
  DWORD flags = 0;
};
constexpr auto kFileDispositionInfoEx = static_cast<FILE_INFO_BY_HANDLE_CLASS>(21);
constexpr DWORD kRemove = 0x1;
constexpr DWORD kRemovePosix = 0x2;
constexpr DWORD kRemoveReadOnly = 0x10;

}  // namespace

int unlink_handle(void* handle) noexcept {
  RemoveRequest request{.flags = kRemove | kRemovePosix | kRemoveReadOnly};
  if (::SetFileInformationByHandle(handle, kFileDispositionInfoEx, &request, sizeof(request)) != 0) return 0;
  FILE_BASIC_INFO writable = {};  // zero: keep the times
  writable.FileAttributes = FILE_ATTRIBUTE_NORMAL;
  (void)::SetFileInformationByHandle(handle, FileBasicInfo, &writable, sizeof(writable));
  FILE_DISPOSITION_INFO old = {};
  old.DeleteFile = TRUE;
  if (::SetFileInformationByHandle(handle, FileDispositionInfo, &old, sizeof(old)) != 0) return 0;
  return static_cast<int>(::GetLastError());
}

int unlink_file(const std::wstring& path) noexcept {
  const UniqueHandle file(::CreateFileW(path.c_str(), DELETE | FILE_WRITE_ATTRIBUTES, kShareAll, nullptr, OPEN_EXISTING,
                                        FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
  if (!file.valid()) return static_cast<int>(::GetLastError());
  return unlink_handle(file.get());
}

}  // namespace fatctx::mapping
