// Mapping by plain system calls: the twin of mapped_region_boost.cc for builds without Boost.Interprocess, and the
// yardstick it is measured against.
#include <sys/mman.h>

#include <cerrno>

#include "mapping/mapped_region.h"
#include "mapping/os_error.h"

namespace fatctx::mapping {
namespace {

struct Unmap {
  std::size_t size = 0;
  void operator()(void* address) const noexcept { (void)::munmap(address, size); }
};

class RawRegion final : public MappedRegion {
 public:
  explicit RawRegion(std::unique_ptr<void, Unmap> address) noexcept : address_(std::move(address)) {}
  [[nodiscard]] ByteView bytes() const noexcept override {
    return {static_cast<const std::byte*>(address_.get()), address_.get_deleter().size};
  }

 private:
  std::unique_ptr<void, Unmap> address_;
};

}  // namespace

Result<std::unique_ptr<MappedRegion>> map_file_raw(const OsFile& file, std::uint64_t size) {
  FATCTX_TRY(check_mappable(file, size));
  const auto length = static_cast<std::size_t>(size);
  void* address = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (address == MAP_FAILED) return os_error(errno, "cannot map the file");
  std::unique_ptr<void, Unmap> owner(address, Unmap{length});
  (void)::madvise(address, length, MADV_DONTDUMP);
  FATCTX_TRY(check_mappable(file, size));
  return std::unique_ptr<MappedRegion>(std::make_unique<RawRegion>(std::move(owner)));
}

}  // namespace fatctx::mapping
