#include "mapping/sealed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/uninterrupted.h"

namespace fatctx::mapping {

Result<SealedFile> SealedFile::make() {
  UniqueFd fd(::memfd_create("fatctx", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd.valid()) return SealedFile(std::move(fd));
  const int number = errno;
  Error error = os_error(number, "cannot make sealed memory");
  if (number == ENOSYS || number == EINVAL) error.code = ErrorCode::kUnsupported;
  return error;
}

Status SealedFile::write(ByteView bytes) {
  while (!bytes.empty()) {
    const auto done =
        uninterrupted([&] { return ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(size_)); });
    if (done <= 0) {
      Error error = os_error(done == 0 ? ENOSPC : errno, fmt::format("cannot take {} bytes of memory", bytes.size()));
      if (error.code == ErrorCode::kNoSpace || error.code == ErrorCode::kNoResource) {
        error.code = ErrorCode::kOutOfMemory;
      }
      return error;
    }
    size_ += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return Done{};
}

Status SealedFile::seal() {
  if (::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
    return os_error(errno, "cannot seal memory");
  }
  // Newer kernels do without, so that a system without /proc is asked by mapping.
  (void)make_read_only(fd_.get()).ok();
  return Done{};
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
