// The mode 0700 of other systems is an access list with one entry here.
#include "mapping/private_folder.h"

#include <random>

#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/owner_only_win32.h"
#include "mapping/unique_handle.h"
#include "mapping/wide_text.h"
#include "mapping/windows_api.h"

namespace fatctx {
namespace mapping {
namespace {

constexpr int kFolderNameAttempts = 64;

// Makes the folders above `path`, as far as they are missing.
Status make_above(const std::wstring& path) {
  const std::size_t end = path.find_last_of(L'\\');
  if (end == std::wstring::npos) return Done{};
  const std::wstring above = path.substr(0, end);
  const DWORD there = ::GetFileAttributesW(above.c_str());
  if (there != INVALID_FILE_ATTRIBUTES) return Done{};
  if (::GetLastError() == ERROR_PATH_NOT_FOUND) FATCTX_TRY(make_above(above));
  if (::CreateDirectoryW(above.c_str(), nullptr) != 0 || ::GetLastError() == ERROR_ALREADY_EXISTS) return Done{};
  return os_error(last_error(), fmt::format("cannot make folder {}", utf8_text(above)));
}

}  // namespace

Result<UniqueFd> open_private_folder(const std::string& path) {
  if (path.find('\0') != std::string::npos) return not_private("", "a path must not contain a NUL character");
  FATCTX_ASSIGN(const std::wstring wide, wide_path(path));
  // Nobody can rename or remove the folder while it is open so. Its path stays the name of the folder that was checked.
  UniqueHandle folder(::CreateFileW(wide.c_str(), FILE_LIST_DIRECTORY | FILE_TRAVERSE | READ_CONTROL,
                                    FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING,
                                    FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (!folder.valid()) {
    const int number = last_error();
    Error error = os_error(number, fmt::format("cache folder {}", path));
    if (error.code == ErrorCode::kNotFound) {
      error.message += fmt::format(
          "; make it with `mkdir {0}` and `icacls {0} /inheritance:r /grant:r \"%USERNAME%\":(OI)(CI)F`", path);
    }
    return error;
  }
  BY_HANDLE_FILE_INFORMATION facts = {};
  if (::GetFileInformationByHandle(folder.get(), &facts) == 0) {
    return os_error(last_error(), fmt::format("cannot look at cache folder {}", path));
  }
  if ((facts.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
    return not_private(path, "it is not a folder; name one that is yours alone");
  }
  FATCTX_ASSIGN(const std::string stranger, stranger_with_access(folder.get()));
  if (!stranger.empty()) {
    return not_private(path, fmt::format("its access list gives {} access, and nobody else may put files into it; run "
                                         "`icacls {} /inheritance:r /grant:r \"%USERNAME%\":(OI)(CI)F`",
                                         stranger, path));
  }
  return UniqueFd(descriptor_of(folder.release()));
}

}  // namespace mapping

Status make_private_folder(const std::string& path) {
  if (path.find('\0') != std::string::npos) return check_private_folder(path);
  const std::string without_slash = path.substr(0, path.find_last_not_of("/\\") + 1);
  FATCTX_ASSIGN(const std::wstring wide, mapping::wide_path(without_slash));
  FATCTX_TRY(mapping::make_above(wide));
  FATCTX_ASSIGN(mapping::OwnerOnly owner, mapping::OwnerOnly::make());
  if (::CreateDirectoryW(wide.c_str(), static_cast<SECURITY_ATTRIBUTES*>(owner.attributes())) == 0 &&
      ::GetLastError() != ERROR_ALREADY_EXISTS) {
    return mapping::os_error(mapping::last_error(), fmt::format("cannot make cache folder {}", path));
  }
  return check_private_folder(path);
}

Result<std::string> make_private_folder_in(const std::string& parent) {
  const std::string above = parent.empty() ? std::string(".") : parent;
  const std::string between = above.ends_with('/') || above.ends_with('\\') ? "" : "/";
  FATCTX_ASSIGN(mapping::OwnerOnly owner, mapping::OwnerOnly::make());
  std::random_device device;
  for (int attempt = 0; attempt < mapping::kFolderNameAttempts; ++attempt) {
    const std::uint64_t number = (std::uint64_t{device()} << 32) | device();
    std::string name = fmt::format("{}{}.fatctx-work-{:016x}", above, between, number);
    FATCTX_ASSIGN(const std::wstring wide, mapping::wide_path(name));
    if (::CreateDirectoryW(wide.c_str(), static_cast<SECURITY_ATTRIBUTES*>(owner.attributes())) != 0) return name;
    if (::GetLastError() != ERROR_ALREADY_EXISTS) {
      return mapping::os_error(mapping::last_error(), fmt::format("cannot make a folder for temporary files in {}",
                                                                  parent.empty() ? "the current folder" : parent));
    }
  }
  return Error{ErrorCode::kExists, fmt::format("cannot find a free name for a folder in {}", above)};
}

}  // namespace fatctx
