// Protocol: docs/format.md, section 11. Nothing here retries a failed sync: the kernel may have dropped the dirty
// pages, and a second call would return success.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <random>

#include <fmt/format.h>
#include <boost/filesystem/path.hpp>

#include "base/utf8.h"
#include "mapping/append_file.h"
#include "mapping/file_lock.h"
#include "mapping/os_error.h"
#include "mapping/os_file_posix.h"
#include "mapping/publish.h"
#include "mapping/system_calls.h"
#include "mapping/uninterrupted.h"

namespace fatctx::mapping {
namespace {

constexpr int kNameAttempts = 64;

// open() applies the umask to this mode.
constexpr mode_t mode_for(Readers readers) { return readers == Readers::kOwner ? 0600 : 0644; }

// Returns a name that nobody can predict, so that nobody can create it beforehand.
std::string random_name(const std::string& base) {
  std::random_device device;
  const std::uint64_t number = (static_cast<std::uint64_t>(device()) << 32) | device();
  // Keeps the name below NAME_MAX even if the target's own name is that long. Counts bytes, unlike fmt's precision, and
  // never cuts a UTF-8 character, which some filesystems refuse.
  constexpr std::size_t kKept = 200;
  return fmt::format(".{}.{:016x}.tmp", std::string_view(base).substr(0, whole_characters(base, kKept)), number);
}

class PosixPendingFile final : public PendingFile {
 public:
  PosixPendingFile(std::string target, std::string folder, std::string base, bool overwrite, Readers readers,
                   TargetLock lock)
      : target_(std::move(target)),
        folder_(std::move(folder)),
        base_(std::move(base)),
        overwrite_(overwrite),
        takes_lock_(overwrite && lock == TargetLock::kTake),
        mode_(mode_for(readers)) {}

  ~PosixPendingFile() override { remove_temporary(); }

  Status open() {
    FATCTX_TRY(look_at_target());
    UniqueFd fd(open_unnamed(folder_fd_.get(), mode_));
    if (!fd.valid()) {
      if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT) {
        return os_error(errno, fmt::format("cannot create a file in {}", folder_));
      }
      FATCTX_TRY(open_named(fd));
    }
    file_ = std::make_unique<PosixFile>(std::move(fd), target_);
    if (takes_lock_) FATCTX_TRY(lock_target());
    return Done{};
  }

  Status open_kept() {
    FATCTX_TRY(look_at_target());
    const std::string name = base_ + ".fetching";
    for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
      constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
      UniqueFd fd(uninterrupted([&] { return ::openat(folder_fd_.get(), name.c_str(), kFlags, mode_); }));
      if (!fd.valid() && errno == ELOOP) return not_own(name);
      if (!fd.valid()) return os_error(errno, fmt::format("cannot open {}", beside(name)));
      struct stat opened = {};
      if (::fstat(fd.get(), &opened) != 0) return os_error(errno, fmt::format("cannot look at {}", beside(name)));
      if (!S_ISREG(opened.st_mode) || opened.st_uid != ::geteuid() || opened.st_nlink > 1) return not_own(name);
      const int refused = try_lock(fd.get(), FileLock::kExclusive);
      if (refused == EAGAIN || refused == EACCES) {
        return Error{ErrorCode::kLocked, fmt::format("another process works on {}", beside(name))};
      }
      if (refused != 0) return os_error(refused, fmt::format("cannot lock {}", beside(name)));
      // The process that had the lock may have published or removed the file meanwhile.
      struct stat named = {};
      if (::fstatat(folder_fd_.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
          named.st_dev != opened.st_dev || named.st_ino != opened.st_ino) {
        continue;
      }
      kept_ = true;
      temporary_ = name;
      file_ = std::make_unique<PosixFile>(std::move(fd), beside(name));
      return Done{};
    }
    return Error{ErrorCode::kChanged, fmt::format("{} appears and goes again and again", beside(name))};
  }

  void discard() noexcept override {
    kept_ = false;
    remove_temporary();
    temporary_.clear();
  }

  OsFile& file() noexcept override { return *file_; }

  Status take_mode(const std::string& path) override {
    struct stat st = {};
    if (::stat(path.c_str(), &st) != 0) return os_error(errno, fmt::format("cannot look at {}", path));
    if (::fchmod(file_->descriptor(), st.st_mode & mode_t{0777}) == 0) return Done{};
    return os_error(errno, fmt::format("cannot set the mode of {}", target_));
  }

  Status publish(bool read_only) override {
    if (read_only) {
      struct stat st = {};
      if (::fstat(file_->descriptor(), &st) != 0 || ::fchmod(file_->descriptor(), st.st_mode & mode_t{0444}) != 0) {
        return os_error(errno, fmt::format("cannot set the mode of {}", target_));
      }
    }
    FATCTX_TRY(file_->sync());
    if (temporary_.empty()) FATCTX_TRY(link_unnamed());
    if (temporary_ != base_) FATCTX_TRY(rename_to_target());
    temporary_.clear();  // it is published and must stay
    if (sync_to_disk(folder_fd_.get()) != 0) {
      return commit_unknown(os_error(errno, fmt::format("{} is written and has its name, but its folder could not be "
                                                        "synced; after a power loss the previous state may be back",
                                                        target_)));
    }
    auto closed = file_->close();
    return closed.ok() ? closed : Status(commit_unknown(std::move(closed).error()));
  }

  void take_back() noexcept override { (void)::unlinkat(folder_fd_.get(), base_.c_str(), 0); }

 private:
  static Error commit_unknown(Error error) {  // the name exists: "the target is as it was" would be wrong
    error.code = ErrorCode::kCommitUnknown;
    return error;
  }

  // Opens the folder. Errors: those of create() that concern the target.
  Status look_at_target() {
    folder_fd_ = UniqueFd(uninterrupted([&] { return ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (!folder_fd_.valid()) return os_error(errno, fmt::format("cannot open folder {}", folder_));
    struct stat st = {};
    if (::fstatat(folder_fd_.get(), base_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
      if (S_ISDIR(st.st_mode) || (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))) {
        return Error{ErrorCode::kNotRegularFile, fmt::format("{} exists and is not a regular file", target_)};
      }
      if (!overwrite_) return already_there();
    } else if (errno != ENOENT) {
      return os_error(errno, fmt::format("cannot look at {}", target_));
    }
    return Done{};
  }

  [[nodiscard]] std::string beside(const std::string& name) const { return fmt::format("{}/{}", folder_, name); }

  Error not_own(const std::string& name) const {
    return Error{
        ErrorCode::kOperationNotPermitted,
        fmt::format("{} is not a file of this user alone; remove it, or write to another folder", beside(name))};
  }

  Error already_there() const {
    return Error{ErrorCode::kExists, fmt::format("{} exists already; ask for overwriting to replace it", target_)};
  }

  Status open_named(UniqueFd& fd) {
    for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
      temporary_ = random_name(base_);  // stored first: a file whose name is not known could not be removed
      fd = UniqueFd(uninterrupted([&] {
        return ::openat(folder_fd_.get(), temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        mode_);
      }));
      if (fd.valid()) return Done{};
      temporary_.clear();
      if (errno != EEXIST) return os_error(errno, fmt::format("cannot create a file in {}", folder_));
    }
    return Error{ErrorCode::kExists, fmt::format("cannot find a free temporary name in {}", folder_)};
  }

  // Links the nameless file, which cannot replace a name: to the target's name if that is free, else to a temporary
  // one.
  Status link_unnamed() {
    const std::string self = fmt::format("/proc/self/fd/{}", file_->descriptor());
    for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
      temporary_ = overwrite_ ? random_name(base_) : base_;
      if (::linkat(AT_FDCWD, self.c_str(), folder_fd_.get(), temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0) return Done{};
      temporary_.clear();
      if (errno != EEXIST) return os_error(errno, fmt::format("cannot name {}", target_));
      if (!overwrite_) return already_there();
    }
    return Error{ErrorCode::kExists, fmt::format("cannot find a free temporary name in {}", folder_)};
  }

  // Returns whether a file has the name; its lock is held then.
  Result<bool> lock_target() {
    struct stat st = {};
    if (::fstatat(folder_fd_.get(), base_.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) return os_error(errno, fmt::format("cannot look at {}", target_));
      return false;
    }
    if (locked_) {
      FATCTX_ASSIGN(const FileIdentity held, locked_->identity());
      if (held.device == st.st_dev && held.inode == st.st_ino) return true;
    }
    FATCTX_ASSIGN(locked_, lock_for_replacing(target_));
    return true;
  }

  // Never replaces a file without its lock: one that appeared since the first check may have an append already.
  Status rename_to_target() {
    for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
      bool replace = overwrite_;
      if (takes_lock_) {
        FATCTX_ASSIGN(replace, lock_target());
      }
      int result = rename_in(folder_fd_.get(), temporary_.c_str(), base_.c_str(), replace);
      if (result != 0 && !replace && (errno == EINVAL || errno == ENOSYS)) {
        // The filesystem cannot rename without replacing. A link never replaces; the temporary name is removed
        // afterwards.
        result = ::linkat(folder_fd_.get(), temporary_.c_str(), folder_fd_.get(), base_.c_str(), 0);
        if (result == 0) (void)::unlinkat(folder_fd_.get(), temporary_.c_str(), 0);
        // It has no links either; the caller allows overwriting.
        if (result != 0 && overwrite_ && errno != EEXIST) {
          result = rename_in(folder_fd_.get(), temporary_.c_str(), base_.c_str(), true);
        }
      }
      if (result == 0) return Done{};
      if (errno != EEXIST) return os_error(errno, fmt::format("cannot rename to {}", target_));
      if (!overwrite_) return already_there();
    }
    return Error{ErrorCode::kChanged,
                 fmt::format("{} appears and goes again and again; nothing was replaced", target_)};
  }

  void remove_temporary() noexcept {
    if (!kept_ && !temporary_.empty() && temporary_ != base_) (void)::unlinkat(folder_fd_.get(), temporary_.c_str(), 0);
  }

  std::string target_;
  std::string folder_;
  std::string base_;
  bool overwrite_;
  bool takes_lock_;
  mode_t mode_;
  bool kept_ = false;  // the file stays without being published
  UniqueFd folder_fd_;
  std::string temporary_;  // its current name in the folder; empty while unnamed and after publishing
  std::unique_ptr<PosixFile> file_;
  std::unique_ptr<OsFile> locked_;  // the file to replace; null if there is none, or if nobody can append to it
};

Result<std::unique_ptr<PosixPendingFile>> beside_target(const std::string& target, bool overwrite, Readers readers,
                                                        TargetLock lock) {
  const boost::filesystem::path path(target);
  const std::string base = path.filename().string();
  if (base.empty() || base == "." || base == ".." || target.find('\0') != std::string::npos) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("\"{}\" does not name a file", target)};
  }
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : std::string(".");
  return std::make_unique<PosixPendingFile>(target, folder, base, overwrite, readers, lock);
}

}  // namespace

Result<std::unique_ptr<PendingFile>> PendingFile::create(const std::string& target, bool overwrite, Readers readers,
                                                         TargetLock lock) {
  FATCTX_ASSIGN(auto pending, beside_target(target, overwrite, readers, lock));
  FATCTX_TRY(pending->open());
  return std::unique_ptr<PendingFile>(std::move(pending));
}

Result<std::unique_ptr<PendingFile>> PendingFile::resume(const std::string& target, bool overwrite) {
  FATCTX_ASSIGN(auto pending, beside_target(target, overwrite, Readers::kAll, TargetLock::kTake));
  FATCTX_TRY(pending->open_kept());
  return std::unique_ptr<PendingFile>(std::move(pending));
}

}  // namespace fatctx::mapping
