// Until it is published, the new file is marked for removal, so that it disappears with its last handle, even if the
// process is killed. A failed sync is never retried.
//
// Replacing: a rename with POSIX semantics does it in one step, even if other processes have the old file open or
// mapped (Windows 10 1809, NTFS). Elsewhere Windows refuses to replace a file that is mapped or read-only, but can
// rename it. Then the old file is renamed first, and between the two renames the name does not exist for a moment.
#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/xchar.h>

#include "mapping/append_file.h"
#include "mapping/os_error.h"
#include "mapping/os_file_win32.h"
#include "mapping/owner_only_win32.h"
#include "mapping/publish.h"
#include "mapping/unlink_win32.h"
#include "mapping/wide_text.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {
namespace {

constexpr int kNameAttempts = 64;
// Returns a name that nobody can predict, so that nobody can create it beforehand. It is never longer than a name may
// be and never contains half a surrogate pair.
std::wstring random_name(std::wstring_view base) {
  std::random_device device;
  const std::uint64_t number = (std::uint64_t{device()} << 32) | device();
  constexpr std::size_t kKept = 200;
  std::size_t kept = std::min(base.size(), kKept);
  if (kept > 0 && kept < base.size() && base[kept] >= 0xDC00 && base[kept] <= 0xDFFF) --kept;
  return fmt::format(L".{}.{:016x}.tmp", base.substr(0, kept), number);
}

// A request for a rename (FILE_RENAME_INFO of newer headers).
struct RenameRequest {
  DWORD flags = 0;
  HANDLE root = nullptr;
  DWORD name_bytes = 0;
  WCHAR name[1] = {};
};
constexpr auto kFileRenameInfoEx = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);
constexpr DWORD kReplaceIfExists = 0x1;
constexpr DWORD kPosixSemantics = 0x2;
constexpr DWORD kIgnoreReadOnly = 0x40;

bool rename_handle(HANDLE file, const std::wstring& target, FILE_INFO_BY_HANDLE_CLASS how, DWORD flags) {
  const std::size_t name_bytes = target.size() * sizeof(WCHAR);
  std::vector<std::byte> buffer(sizeof(RenameRequest) + name_bytes);  // aligned as operator new aligns
  auto* const request = new (buffer.data()) RenameRequest;
  request->flags = flags;
  request->name_bytes = static_cast<DWORD>(name_bytes);
  std::memcpy(buffer.data() + offsetof(RenameRequest, name), target.data(), name_bytes);
  return ::SetFileInformationByHandle(file, how, request, static_cast<DWORD>(buffer.size())) != 0;
}

bool rename_posix(HANDLE file, const std::wstring& target) {
  return rename_handle(file, target, kFileRenameInfoEx, kReplaceIfExists | kPosixSemantics | kIgnoreReadOnly);
}

bool mark_for_removal(HANDLE file, bool remove) noexcept {
  FILE_DISPOSITION_INFO wanted = {};
  wanted.DeleteFile = remove ? TRUE : FALSE;
  return ::SetFileInformationByHandle(file, FileDispositionInfo, &wanted, sizeof(wanted)) != 0;
}

bool set_read_only(HANDLE file, bool read_only) noexcept {
  FILE_BASIC_INFO info = {};  // zero: keep the times
  info.FileAttributes = read_only ? FILE_ATTRIBUTE_READONLY : FILE_ATTRIBUTE_NORMAL;
  return ::SetFileInformationByHandle(file, FileBasicInfo, &info, sizeof(info)) != 0;
}

bool rename_file(const std::wstring& from, const std::wstring& to, DWORD how = 0) noexcept {
  return ::MoveFileExW(from.c_str(), to.c_str(), how | MOVEFILE_WRITE_THROUGH) != 0;
}

class Win32PendingFile final : public PendingFile {
 public:
  Win32PendingFile(std::string target, std::wstring wide, bool overwrite, Readers readers, TargetLock lock)
      : target_(std::move(target)),
        wide_(std::move(wide)),
        overwrite_(overwrite),
        readers_(readers),
        takes_lock_(overwrite && lock == TargetLock::kTake) {
    const std::size_t slash = wide_.find_last_of(L'\\');
    folder_ = wide_.substr(0, slash + 1);
    base_ = wide_.substr(slash + 1);
  }
  Win32PendingFile(const Win32PendingFile&) = delete;
  Win32PendingFile& operator=(const Win32PendingFile&) = delete;
  ~Win32PendingFile() override {
    if (file_ && !published_ && !kept_) abandon();
  }

  Status open() {
    FATCTX_TRY(look_at_target());
    if (overwrite_) FATCTX_TRY(lock_target());
    std::optional<OwnerOnly> owner;
    if (readers_ == Readers::kOwner) {
      FATCTX_ASSIGN(owner, OwnerOnly::make());
    }
    auto* const attributes = owner ? static_cast<SECURITY_ATTRIBUTES*>(owner->attributes()) : nullptr;
    for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
      temporary_ = folder_ + random_name(base_);
      UniqueHandle handle(::CreateFileW(temporary_.c_str(), GENERIC_READ | GENERIC_WRITE | DELETE, kShareAll,
                                        attributes, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr));
      if (handle.valid()) {
        file_ = std::make_unique<Win32File>(std::move(handle), target_);
        (void)mark_for_removal(file_->handle(), true);  // if it cannot be marked, the destructor removes it
        return Done{};
      }
      if (::GetLastError() != ERROR_FILE_EXISTS && ::GetLastError() != ERROR_ALREADY_EXISTS) {
        return os_error(last_error(), fmt::format("cannot create a file beside {}", target_));
      }
    }
    return Error{ErrorCode::kExists, fmt::format("cannot find a free temporary name beside {}", target_)};
  }

  // The share mode of the open is the lock: another process cannot open the file for writing.
  Status open_kept() {
    FATCTX_TRY(look_at_target());
    temporary_ = wide_ + L".fetching";
    UniqueHandle handle(::CreateFileW(temporary_.c_str(), GENERIC_READ | GENERIC_WRITE | DELETE,
                                      FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr, OPEN_ALWAYS,
                                      FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
    if (!handle.valid() && ::GetLastError() == ERROR_SHARING_VIOLATION) {
      return Error{ErrorCode::kLocked, fmt::format("another process works on {}.fetching", target_)};
    }
    if (!handle.valid()) return os_error(last_error(), fmt::format("cannot open {}.fetching", target_));
    BY_HANDLE_FILE_INFORMATION facts = {};
    if (::GetFileInformationByHandle(handle.get(), &facts) == 0) {
      return os_error(last_error(), fmt::format("cannot look at {}.fetching", target_));
    }
    FATCTX_ASSIGN(const bool own, belongs_to_this_user(handle.get()));
    constexpr DWORD kStrange = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE | FILE_ATTRIBUTE_REPARSE_POINT;
    if (!own || facts.nNumberOfLinks > 1 || (facts.dwFileAttributes & kStrange) != 0) {
      return Error{
          ErrorCode::kOperationNotPermitted,
          fmt::format("{}.fetching is not a file of this user alone; remove it, or write to another folder", target_)};
    }
    kept_ = true;
    file_ = std::make_unique<Win32File>(std::move(handle), target_ + ".fetching");
    return Done{};
  }

  void discard() noexcept override {
    kept_ = false;
    give_up_name();
    (void)unlink_handle(file_->handle());
    (void)file_->close();
  }
  OsFile& file() noexcept override { return *file_; }

  Status take_mode(const std::string&) override { return Done{}; }

  Status publish(bool read_only) override {
    FATCTX_TRY(file_->sync());
    if (!mark_for_removal(file_->handle(), false))
      return os_error(last_error(), fmt::format("cannot keep {}", target_));
    if (read_only && !set_read_only(file_->handle(), true)) {
      return os_error(last_error(), fmt::format("cannot set the mode of {}", target_));
    }
    FATCTX_TRY(lock_target());
    FATCTX_TRY(overwrite_ ? replace() : give_name());
    published_ = true;
    // The rename is in the journal; flushing the file flushes the journal too.
    auto synced = file_->sync();
    if (!synced.ok()) {
      return commit_unknown(in_context(
          std::move(synced).error(), fmt::format("{} is written and has its name, but after a power loss the previous "
                                                 "state may be back",
                                                 target_)));
    }
    auto closed = file_->close();
    return closed.ok() ? closed : Status(commit_unknown(std::move(closed).error()));
  }

  void take_back() noexcept override { (void)::DeleteFileW(wide_.c_str()); }

 private:
  static Error commit_unknown(Error error) {  // the name exists: "the target is as it was" would be wrong
    error.code = ErrorCode::kCommitUnknown;
    return error;
  }

  // Leaves the name of the unfinished file for another file. Older systems keep the name of a removed file while
  // anybody has it open, so the file gets another name first.
  void give_up_name() noexcept {
    try {
      (void)rename_handle(file_->handle(), folder_ + random_name(base_), FileRenameInfo, 0);
    } catch (const std::exception&) {
      return;  // without memory or randomness it goes under its own name
    }
  }

  Status look_at_target() {
    const DWORD there = ::GetFileAttributesW(wide_.c_str());
    if (there == INVALID_FILE_ATTRIBUTES) {
      if (::GetLastError() == ERROR_FILE_NOT_FOUND) return Done{};
      return os_error(last_error(), fmt::format("cannot look at {}", target_));
    }
    if ((there & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE)) != 0) {
      return Error{ErrorCode::kNotRegularFile, fmt::format("{} exists and is not a regular file", target_)};
    }
    if (!overwrite_) return already_there();
    return Done{};
  }

  Error already_there() const {
    return Error{ErrorCode::kExists, fmt::format("{} exists already; ask for overwriting to replace it", target_)};
  }
  Error cannot_rename(int error) const { return os_error(error, fmt::format("cannot rename to {}", target_)); }

  // Locks the file that has the name now. While our handle exists, no other process can open that file for writing.
  Status lock_target() {
    if (!takes_lock_) return Done{};
    if (locked_ && check_named(*locked_, target_).ok()) return Done{};
    locked_.reset();
    FATCTX_ASSIGN(locked_, lock_for_replacing(target_));
    return Done{};
  }

  Status give_name() {
    if (rename_file(temporary_, wide_)) return Done{};
    const int error = last_error();
    if (error == ERROR_FILE_EXISTS || error == ERROR_ALREADY_EXISTS) return already_there();
    return cannot_rename(error);
  }

  Status replace() {
    if (rename_posix(file_->handle(), wide_) || rename_file(temporary_, wide_, MOVEFILE_REPLACE_EXISTING))
      return Done{};
    const int error = last_error();
    const bool in_use =
        error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION || error == ERROR_USER_MAPPED_FILE;
    if (!in_use) return cannot_rename(error);
    const std::wstring aside = folder_ + random_name(base_);
    if (!rename_file(wide_, aside)) return cannot_rename(error);
    if (!rename_file(temporary_, wide_)) {
      Error failed = cannot_rename(last_error());
      if (rename_file(aside, wide_)) return failed;
      failed.message += fmt::format("; the old file is now {}", utf8_text(aside));
      return commit_unknown(std::move(failed));
    }
    // Removes it now, or with the last handle of another process; older systems keep it while it is mapped.
    (void)::SetFileAttributesW(aside.c_str(), FILE_ATTRIBUTE_NORMAL);
    (void)::DeleteFileW(aside.c_str());
    return Done{};
  }

  void abandon() noexcept {
    (void)set_read_only(file_->handle(), false);
    if (!mark_for_removal(file_->handle(), true)) (void)::DeleteFileW(temporary_.c_str());
  }

  std::string target_;
  std::wstring wide_;
  bool overwrite_;
  Readers readers_;
  bool takes_lock_;
  std::wstring folder_;  // with the separator at its end
  std::wstring base_;
  std::wstring temporary_;
  bool published_ = false;
  bool kept_ = false;  // the file stays without being published
  std::unique_ptr<Win32File> file_;
  std::unique_ptr<OsFile> locked_;  // the file to replace; null if there is none, or if nobody can append to it
};

Result<std::unique_ptr<Win32PendingFile>> beside_target(const std::string& target, bool overwrite, Readers readers,
                                                        TargetLock lock) {
  const std::string_view base = std::string_view(target).substr(target.find_last_of("/\\:") + 1);
  if (base.empty() || base == "." || base == ".." || target.find('\0') != std::string::npos) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("\"{}\" does not name a file", target)};
  }
  FATCTX_ASSIGN(std::wstring wide, wide_path(target));
  return std::make_unique<Win32PendingFile>(target, std::move(wide), overwrite, readers, lock);
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
