// Raw calls: destroying a mapped_region of Boost.Interprocess would leave a hole, into which other code could map while
// the rest is still in use.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include <fmt/format.h>

#include "mapping/bus_guard.h"
#include "mapping/os_error.h"
#include "mapping/page_range.h"
#include "mapping/stitched_region.h"
#include "mapping/system_calls.h"

namespace fatctx::mapping {
namespace {

struct UnmapRange {
  std::size_t size = 0;
  void operator()(void* address) const noexcept { (void)::munmap(address, size); }
};
using Addresses = std::unique_ptr<void, UnmapRange>;  // unmapped in one call, whatever the number of maps

class StitchedRegion final : public MappedRegion {
 public:
  StitchedRegion(Addresses addresses, std::size_t size, std::atomic<bool>* also_lost)
      : addresses_(std::move(addresses)), size_(size), watch_(bytes(), also_lost) {}
  [[nodiscard]] ByteView bytes() const noexcept override {
    return {static_cast<const std::byte*>(addresses_.get()), size_};
  }
  [[nodiscard]] bool backed_by_file() const noexcept override { return true; }
  [[nodiscard]] bool lost() const noexcept override { return watch_.lost(); }

 private:
  Addresses addresses_;
  std::size_t size_;
  BusWatch watch_;  // must be last: it ends before the bytes are unmapped
};

}  // namespace

Result<std::unique_ptr<MappedRegion>> map_mixed(const OsFile& file, std::span<const MixedPiece> pieces,
                                                const SealableBlock* built, std::atomic<bool>* also_lost) {
  std::uint64_t size = 0;
  std::uint64_t end = 0;  // in the file; 0 if no piece is of the file
  for (const MixedPiece& piece : pieces) {
    if (piece.size > std::numeric_limits<std::size_t>::max() / 2 - size) {
      return Error{ErrorCode::kNoResource, "the pieces together do not fit into this address space"};
    }
    size += piece.size;
    if (!piece.built) end = std::max(end, piece.offset + piece.size);
  }
  if (end != 0) FATCTX_TRY(check_mappable(file, end));
  const auto whole = static_cast<std::size_t>((size + page_size() - 1) / page_size() * page_size());
  void* const reserved = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return os_error(errno, fmt::format("cannot reserve {} bytes of addresses", whole));
  Addresses addresses(reserved, UnmapRange{whole});
  auto* at = static_cast<std::byte*>(reserved);
  for (const MixedPiece& piece : pieces) {
    const auto length = static_cast<std::size_t>(piece.size);
    const bool from_memory = piece.built && built != nullptr;
    const int descriptor = from_memory ? built->descriptor : file.descriptor();
    const std::uint64_t offset = from_memory ? piece.offset : file.base() + piece.offset;
    if (::mmap(at, length, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor, static_cast<off_t>(offset)) == MAP_FAILED) {
      return os_error(errno, fmt::format("cannot map {} bytes from byte {:#x} of {}", piece.size, piece.offset,
                                         piece.built ? "sealed memory" : "the file"));
    }
    at += length;
  }
  keep_out_of_core_dumps(reserved, whole);
  if (end != 0) FATCTX_TRY(check_mappable(file, end));
  return std::unique_ptr<MappedRegion>(
      std::make_unique<StitchedRegion>(std::move(addresses), static_cast<std::size_t>(size), also_lost));
}

}  // namespace fatctx::mapping
