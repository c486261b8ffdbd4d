#include "mapping/work_folder.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "fatctx/private_folder.h"
#include "mapping/os_error.h"
#include "mapping/unlink_win32.h"
#include "mapping/wide_text.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {
namespace {

// Removes the folder with its content; follows no link. Ignores failures.
void remove_tree(const std::wstring& folder) {
  WIN32_FIND_DATAW entry = {};
  HANDLE const search = ::FindFirstFileW((folder + L"\\*").c_str(), &entry);
  if (search != INVALID_HANDLE_VALUE) {
    do {
      const std::wstring_view name = entry.cFileName;
      if (name == L"." || name == L"..") continue;
      const std::wstring path = folder + L'\\' + std::wstring(name);
      if ((entry.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
        (void)unlink_file(path);
      } else if ((entry.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
        (void)::RemoveDirectoryW(path.c_str());
      } else {
        remove_tree(path);
      }
    } while (::FindNextFileW(search, &entry) != 0);
    (void)::FindClose(search);
  }
  (void)::RemoveDirectoryW(folder.c_str());
}

}  // namespace

Result<WorkFolder> WorkFolder::create_beside(const std::string& path) {
  FATCTX_ASSIGN(std::string made, make_private_folder_in(path.substr(0, path.find_last_of("/\\") + 1)));
  return WorkFolder(std::move(made));
}

Result<WorkFolder> WorkFolder::create_temporary() {
  std::array<wchar_t, MAX_PATH + 2> folder{};
  const DWORD size = ::GetTempPathW(static_cast<DWORD>(folder.size()), folder.data());
  if (size == 0 || size >= folder.size()) return last_os_error("cannot find the folder for temporary files");
  FATCTX_ASSIGN(std::string made, make_private_folder_in(utf8_text({folder.data(), size})));
  return WorkFolder(std::move(made));
}

Status WorkFolder::keep(const std::string& path, const std::string& name) const {
  FATCTX_ASSIGN(const std::wstring from, wide_path(path));
  FATCTX_ASSIGN(const std::wstring to, wide_path(path_of(name)));
  if (::CreateHardLinkW(to.c_str(), from.c_str(), nullptr) == 0)
    return last_os_error(path + ": cannot be given a second name");
  return Done{};
}

Status WorkFolder::copy(const std::string& path, const std::string& name) const {
  FATCTX_ASSIGN(const std::wstring from, wide_path(path));
  FATCTX_ASSIGN(const std::wstring to, wide_path(path_of(name)));
  if (::CopyFileW(from.c_str(), to.c_str(), TRUE) == 0) return last_os_error(path + ": cannot be copied");
  return Done{};
}

Status WorkFolder::put_back(const std::string& name, const std::string& path) const {
  FATCTX_ASSIGN(const std::wstring from, wide_path(path_of(name)));
  FATCTX_ASSIGN(const std::wstring to, wide_path(path));
  if (::MoveFileExW(from.c_str(), to.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) == 0) {
    return last_os_error(path + ": cannot be put back");
  }
  return Done{};
}

Status remove_file(const std::string& path) {
  FATCTX_ASSIGN(const std::wstring wide, wide_path(path));
  const int failed = unlink_file(wide);
  if (failed == ERROR_FILE_NOT_FOUND || failed == ERROR_PATH_NOT_FOUND) {
    return Error{ErrorCode::kNotFound, path + ": not there"};
  }
  if (failed != 0) return os_error(failed, path + ": cannot be removed");
  return Done{};
}

WorkFolder::~WorkFolder() {
  if (path_.empty()) return;
  const auto wide = wide_path(path_);
  if (wide.ok()) remove_tree(wide.value());
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
WorkFolder& WorkFolder::operator=(WorkFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

}  // namespace fatctx::mapping
