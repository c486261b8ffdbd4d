#include "mapping/os_file_posix.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/system_calls.h"
#include "mapping/uninterrupted.h"

namespace fatctx::mapping {
namespace {

constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;  // Linux transfers at most 2 GiB - 4 KiB a call

FileIdentity identity_of(const struct stat& st) {
  FileIdentity id;
  id.device = static_cast<std::uint64_t>(st.st_dev);
  id.inode = st.st_ino;
  id.size = static_cast<std::uint64_t>(st.st_size);
  id.modified = modified_time(st);
  id.changed = changed_time(st);
  id.regular = S_ISREG(st.st_mode);
  return id;
}

}  // namespace

int UniqueFd::reset() noexcept {
  if (fd_ < 0) return 0;
  const int result = ::close(std::exchange(fd_, -1));
  return result == 0 || errno == EINTR ? 0 : errno;
}

Status PosixFile::read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
  while (!buffer.empty()) {
    const ssize_t got = uninterrupted([&] {
      return ::pread(fd_.get(), buffer.data(), std::min(buffer.size(), kMaxTransfer), static_cast<off_t>(offset));
    });
    if (got < 0) {
      Error error = os_error(errno, fmt::format("cannot read {}", name_));
      error.where.file_offset = offset;
      return error;
    }
    if (got == 0) {
      return Error{ErrorCode::kTruncated,
                   fmt::format("{} ends {} bytes too early", name_, buffer.size()),
                   {.file_offset = offset}};
    }
    offset += static_cast<std::uint64_t>(got);
    buffer = buffer.subspan(static_cast<std::size_t>(got));
  }
  return Done{};
}

Result<bool> PosixFile::show(ByteRange range, const MappedPlace& mapped, const Look& look) const {
  return still_.show(*this, range, mapped, look);
}

Status PosixFile::write_at(std::uint64_t offset, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t put = uninterrupted([&] {
      return ::pwrite(fd_.get(), bytes.data(), std::min(bytes.size(), kMaxTransfer), static_cast<off_t>(offset));
    });
    if (put < 0) {
      Error error = os_error(errno, fmt::format("cannot write {}", name_));
      error.where.file_offset = offset;
      return error;
    }
    if (put == 0) return Error{ErrorCode::kIo, fmt::format("cannot write {}: nothing was written", name_)};
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return Done{};
}

Status PosixFile::allocate(std::uint64_t size) {
  if (size == 0) return Done{};
  if (reserve_space(fd_.get(), size) == 0) return Done{};
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
    return os_error(errno, fmt::format("cannot reserve {} bytes for {}", size, name_));
  }
  return Done{};  // not supported here: the write itself will report
}

Status PosixFile::sync() {
  if (sync_content_to_disk(fd_.get()) == 0) return Done{};
  return os_error(errno, fmt::format("cannot sync {}", name_));
}

Result<FileIdentity> PosixFile::identity() const { return stat_descriptor(fd_.get()); }

Status PosixFile::close() {
  const int error = fd_.reset();
  if (error == 0) return Done{};
  return os_error(error, fmt::format("cannot close {}", name_));
}

Result<std::unique_ptr<OsFile>> open_for_reading(const std::string& path, OpenFlags flags) {
  if (path.find('\0') != std::string::npos) {
    return Error{ErrorCode::kInvalidArgument, "a path must not contain a NUL character"};
  }
  const int extra = flags.follow_symlinks ? 0 : O_NOFOLLOW;
  UniqueFd fd(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | extra); }));
  if (!fd.valid()) {
    const int error_number = errno;
    // O_NONBLOCK never blocks here, but a socket cannot be opened at all.
    if (error_number == ENXIO) {
      return Error{ErrorCode::kNotRegularFile, "not a regular file", {.os_error = error_number}};
    }
    return os_error(error_number, "cannot open");
  }
  return std::unique_ptr<OsFile>(std::make_unique<PosixFile>(std::move(fd), "the file", Lease::kAllowed));
}

Result<std::unique_ptr<OsFile>> duplicate_for_reading(int descriptor) {
  UniqueFd fd(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!fd.valid()) {
    const int error_number = errno;
    if (error_number == EBADF) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("descriptor {} is not open", descriptor)};
    }
    return os_error(error_number, fmt::format("cannot duplicate descriptor {}", descriptor));
  }
  return std::unique_ptr<OsFile>(std::make_unique<PosixFile>(std::move(fd), "the file"));
}

Result<FileIdentity> stat_path(const std::string& path, OpenFlags flags) {
  struct stat st = {};
  const int result = flags.follow_symlinks ? ::stat(path.c_str(), &st) : ::lstat(path.c_str(), &st);
  if (result != 0) return os_error(errno, "cannot open");
  return identity_of(st);
}

Result<FileIdentity> stat_descriptor(int descriptor) {
  struct stat st = {};
  if (::fstat(descriptor, &st) != 0) return os_error(errno, fmt::format("cannot stat descriptor {}", descriptor));
  return identity_of(st);
}

}  // namespace fatctx::mapping
