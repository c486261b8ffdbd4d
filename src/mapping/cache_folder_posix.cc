// Raw calls: every lookup is in the folder whose owner and mode were checked, even if its path now names another one.
// Boost.Filesystem has neither descriptors nor owners.
#include "mapping/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "mapping/file_lock.h"
#include "mapping/os_error.h"
#include "mapping/os_file_posix.h"
#include "mapping/private_folder.h"
#include "mapping/system_calls.h"
#include "mapping/uninterrupted.h"

namespace fatctx::mapping {
namespace {

constexpr std::int64_t kUnlockedAge = std::int64_t{24} * 60 * 60;  // seconds

// Reading a file to list or check it does not count as a use; mark_used() alone sets the access time.
#ifdef O_NOATIME
constexpr int kNoAccessTime = O_NOATIME;
#else
constexpr int kNoAccessTime = 0;
#endif

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { (void)::closedir(folder); }
};

bool is_temporary(const std::string& name) { return name.starts_with('.') && name.ends_with(".tmp"); }

}  // namespace

Result<CacheFolder> CacheFolder::open(const std::string& path) {
  FATCTX_ASSIGN(UniqueFd folder, open_private_folder(path));
  return CacheFolder(path, std::move(folder));
}

Result<std::unique_ptr<OsFile>> CacheFolder::open_file(const std::string& name) const {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
  UniqueFd fd(uninterrupted([&] { return ::openat(folder_.get(), name.c_str(), kFlags | kNoAccessTime); }));
  // The file belongs to another user: O_NOATIME is for its owner only.
  if (!fd.valid() && errno == EPERM && kNoAccessTime != 0) {
    fd = UniqueFd(uninterrupted([&] { return ::openat(folder_.get(), name.c_str(), kFlags); }));
  }
  if (!fd.valid()) return os_error(errno, fmt::format("cannot open {}", path_of(name)));
  return std::unique_ptr<OsFile>(std::make_unique<PosixFile>(std::move(fd), path_of(name)));
}

Result<std::unique_ptr<PendingFile>> CacheFolder::create_file(const std::string& name) const {
  FATCTX_ASSIGN(std::unique_ptr<PendingFile> file, PendingFile::create(path_of(name), false));
  // A failure is ignored: without locks, age alone tells if a temporary is abandoned.
  (void)try_lock(file->file().descriptor(), FileLock::kExclusive);
  return file;
}

void CacheFolder::mark_used(const OsFile& file) const noexcept {
  // Keeps the modification time, so that a write to the file can be detected.
  const struct timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  (void)::futimens(file.descriptor(), times);
}

bool CacheFolder::remove(const std::string& name) const noexcept {
  return ::unlinkat(folder_.get(), name.c_str(), 0) == 0 || errno == ENOENT;
}

void CacheFolder::remove_if_same(const std::string& name, const FileIdentity& identity) const noexcept {
  struct stat st = {};
  if (::fstatat(folder_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (static_cast<std::uint64_t>(st.st_dev) == identity.device && st.st_ino == identity.inode) (void)remove(name);
}

Result<std::vector<std::string>> CacheFolder::names() const {
  // Opens a descriptor of its own, because the read position belongs to it.
  UniqueFd again(uninterrupted([&] { return ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  std::unique_ptr<DIR, CloseFolder> folder(again.valid() ? ::fdopendir(again.get()) : nullptr);
  if (!folder) return os_error(errno, fmt::format("cannot list cache folder {}", path_));
  (void)again.release();
  std::vector<std::string> found;
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    found.emplace_back(entry->d_name);
    errno = 0;
  }
  if (errno != 0) return os_error(errno, fmt::format("cannot list cache folder {}", path_));
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::vector<CacheFolderFile>> CacheFolder::list() const {
  FATCTX_ASSIGN(const std::vector<std::string> all, names());
  std::vector<CacheFolderFile> files;
  for (const std::string& name : all) {
    struct stat st = {};
    if (name.starts_with('.')) continue;
    if (::fstatat(folder_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;  // another process was faster
      return os_error(errno, fmt::format("cannot look at {}", path_of(name)));
    }
    if (!S_ISREG(st.st_mode)) continue;
    files.push_back({name, static_cast<std::uint64_t>(st.st_size), modified_time(st), accessed_time(st)});
  }
  return files;
}

Result<std::size_t> CacheFolder::sweep_temporaries(std::int64_t least_age_seconds) const {
  FATCTX_ASSIGN(const std::vector<std::string> all, names());
  std::size_t removed = 0;
  for (const std::string& name : all) {
    struct stat st = {};
    if (!is_temporary(name) || ::fstatat(folder_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::int64_t age = ::time(nullptr) - modified_time(st).seconds;
    if (!S_ISREG(st.st_mode) || age < least_age_seconds) continue;
    const UniqueFd fd(uninterrupted(
        [&] { return ::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW); }));
    if (!fd.valid()) continue;
    const int refused = try_lock(fd.get(), FileLock::kShared);
    if (refused == EAGAIN || refused == EACCES) continue;  // its maker is alive
    if (refused != 0 && age < kUnlockedAge) continue;
    if (::unlinkat(folder_.get(), name.c_str(), 0) == 0) ++removed;
  }
  return removed;
}

}  // namespace fatctx::mapping
