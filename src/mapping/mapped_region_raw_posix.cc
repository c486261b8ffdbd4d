// Maps with plain system calls: the twin of mapped_region_boost_posix.cc for builds without Boost.Interprocess, and the
// reference for its measurements.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "mapping/bus_guard.h"
#include "mapping/mapped_region.h"
#include "mapping/os_error.h"
#include "mapping/system_calls.h"

namespace fatctx::mapping {
namespace {

struct Unmap {
  std::size_t size = 0;
  void operator()(void* address) const noexcept { (void)::munmap(address, size); }
};

class RawRegion final : public MappedRegion {
 public:
  RawRegion(std::unique_ptr<void, Unmap> address, std::size_t before)
      : address_(std::move(address)), before_(before), watch_(bytes()) {}
  [[nodiscard]] ByteView bytes() const noexcept override {
    return ByteView(static_cast<const std::byte*>(address_.get()), address_.get_deleter().size).subspan(before_);
  }
  [[nodiscard]] bool backed_by_file() const noexcept override { return true; }
  [[nodiscard]] bool lost() const noexcept override { return watch_.lost(); }

 private:
  std::unique_ptr<void, Unmap> address_;
  std::size_t before_;  // bytes of the first page in front of the data; not handed out
  BusWatch watch_;      // must be last: it ends before the bytes are unmapped
};

}  // namespace

std::string_view provider_name() noexcept { return "posix"; }

std::string_view raw_mapping_method() noexcept { return "mmap"; }

std::uint64_t page_bytes() noexcept { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

std::uint64_t map_granule_bytes() noexcept { return page_bytes(); }

Result<std::unique_ptr<MappedRegion>> map_file_raw(const OsFile& file, std::uint64_t size) {
  FATCTX_TRY(check_map_size(size));
  const std::uint64_t before = file.base() % page_bytes();
  const auto length = static_cast<std::size_t>(before + size);
  void* address =
      ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file.descriptor(), static_cast<off_t>(file.base() - before));
  if (address == MAP_FAILED) return os_error(errno, "cannot map the file");
  std::unique_ptr<void, Unmap> owner(address, Unmap{length});
  FATCTX_TRY(check_mappable(file, size));
  return std::unique_ptr<MappedRegion>(std::make_unique<RawRegion>(std::move(owner), static_cast<std::size_t>(before)));
}

}  // namespace fatctx::mapping
