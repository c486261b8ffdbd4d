// The folder stays open, and nobody can rename or remove it meanwhile (private_folder_win32.cc). So its path names the
// folder that was checked, and calls may use paths.
#include "mapping/cache_folder.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/os_file_win32.h"
#include "mapping/private_folder.h"
#include "mapping/unlink_win32.h"
#include "mapping/wide_text.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {
namespace {

bool is_temporary(const std::string& name) { return name.starts_with('.') && name.ends_with(".tmp"); }

bool is_regular(DWORD attributes) noexcept {
  return (attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE | FILE_ATTRIBUTE_REPARSE_POINT)) == 0;
}

FileTime time_of_entry(const FILETIME& time) noexcept {
  LARGE_INTEGER ticks = {};
  ticks.LowPart = time.dwLowDateTime;
  ticks.HighPart = static_cast<LONG>(time.dwHighDateTime);
  return time_of_ticks(ticks.QuadPart);
}

struct Found {
  std::string name;
  WIN32_FIND_DATAW entry = {};
};

// Returns all entries of the folder in the order of their names.
Result<std::vector<Found>> entries_of(const std::string& path) {
  FATCTX_ASSIGN(const std::wstring wide, wide_path(path));
  std::vector<Found> found;
  Found one;
  HANDLE const search = ::FindFirstFileW((wide + L"\\*").c_str(), &one.entry);
  if (search == INVALID_HANDLE_VALUE) return os_error(last_error(), fmt::format("cannot list cache folder {}", path));
  do {
    one.name = utf8_text(one.entry.cFileName);
    found.push_back(one);
  } while (::FindNextFileW(search, &one.entry) != 0);
  const int ended = last_error();
  (void)::FindClose(search);
  if (ended != ERROR_NO_MORE_FILES) return os_error(ended, fmt::format("cannot list cache folder {}", path));
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.name < b.name; });
  return found;
}

}  // namespace

Result<CacheFolder> CacheFolder::open(const std::string& path) {
  FATCTX_ASSIGN(UniqueFd folder, open_private_folder(path));
  return CacheFolder(path, std::move(folder));
}

Result<std::unique_ptr<OsFile>> CacheFolder::open_file(const std::string& name) const {
  FATCTX_ASSIGN(const std::wstring wide, wide_path(path_of(name)));
  const auto open = [&](DWORD access) {
    return UniqueHandle(
        ::CreateFileW(wide.c_str(), access, kShareAll, nullptr, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
  };
  UniqueHandle handle = open(GENERIC_READ | FILE_WRITE_ATTRIBUTES);
  if (handle.valid()) {
    // Reading through this handle does not count as a use; mark_used() alone sets the access time.
    const FILETIME unchanged = {0xFFFFFFFF, 0xFFFFFFFF};
    (void)::SetFileTime(handle.get(), nullptr, &unchanged, nullptr);
  } else if (::GetLastError() == ERROR_ACCESS_DENIED) {
    handle = open(GENERIC_READ);
  }
  if (!handle.valid()) return os_error(last_error(), fmt::format("cannot open {}", path_of(name)));
  if (is_link(handle.get())) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: a link, which is not followed", path_of(name))};
  }
  return std::unique_ptr<OsFile>(std::make_unique<Win32File>(std::move(handle), path_of(name)));
}

// Until it is published, the file is marked for removal: it disappears with its maker, so it needs no lock.
Result<std::unique_ptr<PendingFile>> CacheFolder::create_file(const std::string& name) const {
  return PendingFile::create(path_of(name), false);
}

void CacheFolder::mark_used(const OsFile& file) const noexcept {
  FILETIME now = {};
  ::GetSystemTimeAsFileTime(&now);
  (void)::SetFileTime(handle_of(file.descriptor()), nullptr, &now, nullptr);
}

bool CacheFolder::remove(const std::string& name) const noexcept {
  const auto wide = wide_path(path_of(name));
  if (!wide.ok()) return false;
  const int failed = unlink_file(wide.value());
  return failed == 0 || failed == ERROR_FILE_NOT_FOUND;
}

void CacheFolder::remove_if_same(const std::string& name, const FileIdentity& identity) const noexcept {
  const auto wide = wide_path(path_of(name));
  if (!wide.ok()) return;
  Win32File file(UniqueHandle(::CreateFileW(wide.value().c_str(), DELETE | FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES,
                                            kShareAll, nullptr, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, nullptr)),
                 path_of(name));
  if (file.handle() == nullptr) return;
  const auto now = file.identity();
  if (!now.ok() || now.value().device != identity.device || now.value().inode != identity.inode ||
      now.value().inode_high != identity.inode_high) {
    return;
  }
  (void)unlink_handle(file.handle());
}

Result<std::vector<std::string>> CacheFolder::names() const {
  FATCTX_ASSIGN(const std::vector<Found> all, entries_of(path_));
  std::vector<std::string> found;
  found.reserve(all.size());
  for (const Found& one : all) found.push_back(one.name);
  return found;
}

Result<std::vector<CacheFolderFile>> CacheFolder::list() const {
  FATCTX_ASSIGN(const std::vector<Found> all, entries_of(path_));
  std::vector<CacheFolderFile> files;
  for (const Found& one : all) {
    if (one.name.starts_with('.') || !is_regular(one.entry.dwFileAttributes)) continue;
    const std::uint64_t size = (std::uint64_t{one.entry.nFileSizeHigh} << 32) | one.entry.nFileSizeLow;
    files.push_back(
        {one.name, size, time_of_entry(one.entry.ftLastWriteTime), time_of_entry(one.entry.ftLastAccessTime)});
  }
  return files;
}

Result<std::size_t> CacheFolder::sweep_temporaries(std::int64_t least_age_seconds) const {
  FATCTX_ASSIGN(const std::vector<Found> all, entries_of(path_));
  std::size_t removed = 0;
  for (const Found& one : all) {
    if (!is_temporary(one.name) || !is_regular(one.entry.dwFileAttributes)) continue;
    const std::int64_t age = std::time(nullptr) - time_of_entry(one.entry.ftLastWriteTime).seconds;
    if (age < least_age_seconds) continue;
    FATCTX_ASSIGN(const std::wstring wide, wide_path(path_of(one.name)));
    // A file that somebody has open cannot be opened without sharing: its maker is alive.
    const UniqueHandle file(::CreateFileW(wide.c_str(), DELETE | FILE_WRITE_ATTRIBUTES, 0, nullptr, OPEN_EXISTING,
                                          FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
    if (file.valid() && unlink_handle(file.get()) == 0) ++removed;
  }
  return removed;
}

}  // namespace fatctx::mapping
