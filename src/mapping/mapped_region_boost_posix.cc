// Maps with Boost.Interprocess, through an adapter of our own checked descriptor.
//
// Boost would open files by name itself, silently maps past the end of a file, and reports errors by exception.
// Therefore the adapter passes an open descriptor, check_mappable() checks the size of the file afterwards, and no
// exception leaves this file.
#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/mapped_region.hpp>

#include "mapping/bus_guard.h"
#include "mapping/mapped_region.h"
#include "mapping/os_error.h"

namespace fatctx::mapping {
namespace {

namespace bip = boost::interprocess;

// A memory-mappable object in the sense of Boost.
class DescriptorAdapter {
 public:
  explicit DescriptorAdapter(int descriptor) noexcept : descriptor_(descriptor) {}
  [[nodiscard]] bip::mapping_handle_t get_mapping_handle() const noexcept { return {descriptor_, false}; }
  [[nodiscard]] bip::mode_t get_mode() const noexcept { return bip::read_only; }

 private:
  int descriptor_;
};

class BoostRegion final : public MappedRegion {
 public:
  BoostRegion(bip::mapped_region region, std::size_t before)
      : region_(std::move(region)), before_(before), watch_(bytes()) {}
  [[nodiscard]] ByteView bytes() const noexcept override {
    return ByteView(static_cast<const std::byte*>(region_.get_address()), region_.get_size()).subspan(before_);
  }
  [[nodiscard]] bool backed_by_file() const noexcept override { return true; }
  [[nodiscard]] bool lost() const noexcept override { return watch_.lost(); }

 private:
  bip::mapped_region region_;
  std::size_t before_;  // bytes of the first page in front of the data; not handed out
  BusWatch watch_;      // must be last: it ends before the bytes are unmapped
};

}  // namespace

Result<std::unique_ptr<MappedRegion>> map_file_boost(const OsFile& file, std::uint64_t size) {
  FATCTX_TRY(check_map_size(size));
  try {
    // Starts at the page of the first byte, so that advice covers whole pages.
    const std::uint64_t before = file.base() % page_bytes();
    bip::mapped_region region(DescriptorAdapter(file.descriptor()), bip::read_only,
                              static_cast<bip::offset_t>(file.base() - before),
                              static_cast<std::size_t>(before + size));
    FATCTX_TRY(check_mappable(file, size));
    return std::unique_ptr<MappedRegion>(
        std::make_unique<BoostRegion>(std::move(region), static_cast<std::size_t>(before)));
  } catch (const bip::interprocess_exception& exception) {
    const int native = exception.get_native_error();
    if (native != 0) return os_error(native, "cannot map the file");
    return Error{ErrorCode::kNoResource, std::string("cannot map the file: ") + exception.what()};
  }
}

}  // namespace fatctx::mapping
