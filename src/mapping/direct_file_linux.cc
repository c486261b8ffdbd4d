#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "mapping/direct_file.h"
#include "mapping/os_error.h"
#include "mapping/page_range.h"
#include "mapping/uninterrupted.h"
#include "mapping/unique_fd.h"

namespace fatctx::mapping {
namespace {

constexpr std::uint64_t kAlignment = 4096;  // enough for every disk whose sectors have up to 4 KiB

class LinuxDirectFile final : public DirectFile {
 public:
  LinuxDirectFile(UniqueFd fd, std::uint64_t base) noexcept : fd_(std::move(fd)), base_(base) {}
  [[nodiscard]] std::uint64_t alignment() const noexcept override { return kAlignment; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> buffer, std::uint64_t needed) const override {
    std::uint64_t done = 0;
    while (done < needed) {
      const std::span<std::byte> rest = buffer.subspan(static_cast<std::size_t>(done));
      const ssize_t got = uninterrupted(
          [&] { return ::pread(fd_.get(), rest.data(), rest.size(), static_cast<off_t>(base_ + offset + done)); });
      if (got < 0) {
        Error error = os_error(errno, "cannot read the file directly");
        // Memory of a device cannot be a target of the disk, and a filesystem may refuse the flag at the read only.
        if (error.where.os_error == EINVAL || error.where.os_error == EFAULT) error.code = ErrorCode::kUnsupported;
        error.where.file_offset = offset + done;
        return error;
      }
      done += static_cast<std::uint64_t>(got);
      // A read that ends between two sectors has met the end of the file.
      if (got == 0 || (done < needed && done % kAlignment != 0)) {
        return Error{ErrorCode::kTruncated, "the file ends too early", {.file_offset = offset + done}};
      }
    }
    return Done{};
  }

 private:
  UniqueFd fd_;
  std::uint64_t base_;
};

// Opens the file with a description of its own: a duplicate would share its flags and advice.
UniqueFd open_again(const OsFile& file, int flags) {
  if (file.descriptor() < 0) return {};
  const std::string path = "/proc/self/fd/" + std::to_string(file.descriptor());
  return UniqueFd(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags); }));
}

}  // namespace

std::unique_ptr<DirectFile> DirectFile::open(const OsFile& file) {
  if (file.base() % kAlignment != 0) return nullptr;
  UniqueFd fd = open_again(file, O_DIRECT);
  if (!fd.valid()) return nullptr;
  return std::make_unique<LinuxDirectFile>(std::move(fd), file.base());
}

std::unique_ptr<OsFile> open_without_read_ahead(const OsFile& file) {
  const UniqueFd fd = open_again(file, 0);
  if (!fd.valid() || ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM) != 0) return nullptr;
  auto again = duplicate_for_reading(fd.get());
  return again.ok() ? std::move(again).value() : nullptr;
}

#if defined(__ANDROID__)
// The filter of an app's system calls would end the process.
std::optional<std::uint64_t> cached_bytes(const OsFile& /*file*/, ByteRange /*range*/) noexcept { return std::nullopt; }
#else
std::optional<std::uint64_t> cached_bytes(const OsFile& file, ByteRange range) noexcept {
  constexpr long kCachestat = 451;  // Linux 6.5; the same number on every architecture
  struct {
    std::uint64_t offset;
    std::uint64_t size;
  } asked{file.base() + range.offset, range.size};
  struct {
    std::uint64_t cached, dirty, written_back, evicted, recently_evicted;
  } told{};
  if (range.size == 0) return 0;  // the system would take 0 as "to the end"
  if (file.descriptor() < 0 || ::syscall(kCachestat, file.descriptor(), &asked, &told, 0U) != 0) return std::nullopt;
  return told.cached * page_size();
}
#endif

}  // namespace fatctx::mapping
