#include "mapping/sealed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <fmt/format.h>

#include "mapping/memfd_linux.h"
#include "mapping/os_error.h"
#include "mapping/uninterrupted.h"
#include "mapping/unique_fd.h"

namespace fatctx::mapping {

struct SealedFile::Memory {
  UniqueFd fd;
  std::uint64_t size = 0;
};

SealedFile::SealedFile(std::unique_ptr<Memory> memory) noexcept : memory_(std::move(memory)) {}
SealedFile::SealedFile(SealedFile&&) noexcept = default;
SealedFile::~SealedFile() = default;

int SealedFile::descriptor() const noexcept { return memory_->fd.get(); }

Result<SealedFile> SealedFile::make(std::uint64_t /*most_bytes*/) {
  auto memory = std::make_unique<Memory>();
  memory->fd = UniqueFd(make_memory_file());
  if (memory->fd.valid()) return SealedFile(std::move(memory));
  const int number = errno;
  Error error = os_error(number, "cannot make sealed memory");
  if (number == ENOSYS || number == EINVAL) error.code = ErrorCode::kUnsupported;
  return error;
}

Status SealedFile::write(ByteView bytes) {
  while (!bytes.empty()) {
    const auto done = uninterrupted(
        [&] { return ::pwrite(memory_->fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(memory_->size)); });
    if (done <= 0) {
      Error error = os_error(done == 0 ? ENOSPC : errno, fmt::format("cannot take {} bytes of memory", bytes.size()));
      if (error.code == ErrorCode::kNoSpace || error.code == ErrorCode::kNoResource) {
        error.code = ErrorCode::kOutOfMemory;
      }
      return error;
    }
    memory_->size += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return Done{};
}

Status SealedFile::seal() {
  if (::fcntl(memory_->fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
    return os_error(errno, "cannot seal memory");
  }
  // A failure is ignored: newer kernels do not need this, and otherwise the later mapping fails without /proc.
  (void)make_read_only(memory_->fd.get()).ok();
  return Done{};
}

int make_memory_file() noexcept {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
#if defined(__ANDROID__) && __ANDROID_API__ < 30  // bionic has the call since Android 11; apps may make it since 8
  return static_cast<int>(::syscall(SYS_memfd_create, "fatctx", kFlags));
#else
  return ::memfd_create("fatctx", kFlags);
#endif
}

Status make_read_only(int descriptor) {
  const std::string path = fmt::format("/proc/self/fd/{}", descriptor);
  const UniqueFd reading(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!reading.valid() || uninterrupted([&] { return ::dup3(reading.get(), descriptor, O_CLOEXEC); }) < 0) {
    return os_error(errno, "cannot map sealed memory");
  }
  return Done{};
}

}  // namespace fatctx::mapping
