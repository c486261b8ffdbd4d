#include "mapping/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "mapping/address_space.h"
#include "mapping/memfd_linux.h"
#include "mapping/os_error.h"
#include "mapping/uninterrupted.h"
#include "mapping/unique_fd.h"

namespace fatctx::mapping {

Result<SealableBlock> make_sealable_block(std::uint64_t size_bytes) {
  if (size_bytes == 0) return Error{ErrorCode::kInvalidArgument, "sealed memory of no bytes"};
  FATCTX_TRY(check_address_space(size_bytes));
  UniqueFd fd(make_memory_file());
  if (!fd.valid()) {
    const int number = errno;
    Error error = os_error(number, "cannot make sealed memory");
    if (number == ENOSYS || number == EINVAL) error.code = ErrorCode::kUnsupported;
    return error;
  }
  if (uninterrupted([&] { return ::fallocate(fd.get(), 0, 0, static_cast<off_t>(size_bytes)); }) != 0) {
    Error error = os_error(errno, fmt::format("cannot reserve {} bytes of memory", size_bytes));
    if (error.code == ErrorCode::kNoSpace || error.code == ErrorCode::kNoResource) error.code = ErrorCode::kOutOfMemory;
    return error;
  }
  const auto size = static_cast<std::size_t>(size_bytes);
  void* const address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (address == MAP_FAILED) return os_error(errno, "cannot map sealed memory");
  (void)::madvise(address, size, MADV_DONTDUMP);
  return SealableBlock{.data = static_cast<std::byte*>(address), .size_bytes = size_bytes, .descriptor = fd.release()};
}

Status seal(const SealableBlock& block) {
  const auto size = static_cast<std::size_t>(block.size_bytes);
  // A writable map prevents the seal, so for a moment nothing is mapped at the address.
  if (::mmap(block.data, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) ==
      MAP_FAILED) {
    return os_error(errno, "cannot seal memory");
  }
  if (::fcntl(block.descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
    return os_error(errno, "cannot seal memory");
  }
  const auto map = [&] {
    return ::mmap(block.data, size, PROT_READ, MAP_SHARED | MAP_FIXED, block.descriptor, 0) == MAP_FAILED ? errno : 0;
  };
  int failed = map();
  if (failed == EPERM) {
    // Before Linux 6.7 the seal forbids every shared map through a descriptor that could write, even a read-only one.
    FATCTX_TRY(make_read_only(block.descriptor));
    failed = map();
  }
  if (failed != 0) return os_error(failed, "cannot map sealed memory");
  (void)::madvise(block.data, size, MADV_DONTDUMP);
  return Done{};
}

void free_block(const SealableBlock& block) noexcept {
  (void)::munmap(block.data, static_cast<std::size_t>(block.size_bytes));
  (void)::close(block.descriptor);
}

}  // namespace fatctx::mapping
