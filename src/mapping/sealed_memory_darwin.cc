// macOS has no seals. A shared memory object is opened twice, for writing and for reading, and its name is removed.
// Once the writable map is unmapped, only a read-only descriptor remains, and there is no way to get another one.
#include "mapping/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>

#include <fmt/format.h>

#include "mapping/address_space.h"
#include "mapping/os_error.h"
#include "mapping/uninterrupted.h"
#include "mapping/unique_fd.h"

namespace fatctx::mapping {
namespace {

constexpr int kSharedNameAttempts = 64;

struct TwoWays {
  UniqueFd writing;
  UniqueFd reading;
};

Result<TwoWays> open_both() {
  std::random_device device;
  for (int attempt = 0; attempt < kSharedNameAttempts; ++attempt) {
    const std::string name = fmt::format("/fatctx.{:08x}{:08x}", device(), device());  // at most 31 characters
    TwoWays ways;
    ways.writing = UniqueFd(::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
    if (!ways.writing.valid()) {
      if (errno == EEXIST) continue;
      return os_error(errno, "cannot make sealed memory");
    }
    ways.reading = UniqueFd(::shm_open(name.c_str(), O_RDONLY, 0));
    const int failed = ways.reading.valid() ? 0 : errno;
    (void)::shm_unlink(name.c_str());
    if (failed != 0) return os_error(failed, "cannot make sealed memory");
    return ways;
  }
  return Error{ErrorCode::kNoResource, "cannot find a free name for sealed memory"};
}

}  // namespace

Result<SealableBlock> make_sealable_block(std::uint64_t size_bytes) {
  if (size_bytes == 0) return Error{ErrorCode::kInvalidArgument, "sealed memory of no bytes"};
  FATCTX_TRY(check_address_space(size_bytes));
  FATCTX_ASSIGN(TwoWays ways, open_both());
  if (uninterrupted([&] { return ::ftruncate(ways.writing.get(), static_cast<off_t>(size_bytes)); }) != 0) {
    Error error = os_error(errno, fmt::format("cannot reserve {} bytes of memory", size_bytes));
    if (error.code == ErrorCode::kNoSpace || error.code == ErrorCode::kNoResource) error.code = ErrorCode::kOutOfMemory;
    return error;
  }
  void* const address =
      ::mmap(nullptr, static_cast<std::size_t>(size_bytes), PROT_READ | PROT_WRITE, MAP_SHARED, ways.writing.get(), 0);
  if (address == MAP_FAILED) return os_error(errno, "cannot map sealed memory");
  return SealableBlock{
      .data = static_cast<std::byte*>(address), .size_bytes = size_bytes, .descriptor = ways.reading.release()};
}

Status seal(const SealableBlock& block) {
  void* const address = ::mmap(block.data, static_cast<std::size_t>(block.size_bytes), PROT_READ,
                               MAP_SHARED | MAP_FIXED, block.descriptor, 0);
  if (address == MAP_FAILED) return os_error(errno, "cannot seal memory");
  return Done{};
}

void free_block(const SealableBlock& block) noexcept {
  (void)::munmap(block.data, static_cast<std::size_t>(block.size_bytes));
  (void)::close(block.descriptor);
}

}  // namespace fatctx::mapping
