// Raw calls: a mapped_region of Boost.Interprocess would leave a hole where it is destroyed, into which somebody else
// could map while the rest is still in use.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include <fmt/format.h>

#include "mapping/bus_guard.h"
#include "mapping/os_error.h"
#include "mapping/page_range.h"
#include "mapping/stitched_region.h"

namespace fatctx::mapping {
namespace {

struct Unmap {
  std::size_t size = 0;
  void operator()(void* address) const noexcept { (void)::munmap(address, size); }
};
using Addresses = std::unique_ptr<void, Unmap>;  // undone as one, however many maps lie in it

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
  BusWatch watch_;  // the last member: it ends before the bytes are unmapped
};

}  // namespace

Status check_stitchable(const OsFile& file, std::span<const FilePiece> pieces, std::uint64_t page_bytes) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const FilePiece& piece = pieces[i];
    const bool last = i + 1 == pieces.size();
    if ((file.base() + piece.file_offset) % page_bytes == 0 && (last || piece.size % page_bytes == 0)) continue;
    return Error{ErrorCode::kUnsupported,
                 fmt::format("a piece of {} bytes at byte {:#x} is not whole pages, which have {} bytes on this system",
                             piece.size, piece.file_offset, page_bytes),
                 {.file_offset = piece.file_offset}};
  }
  return Done{};
}

Result<std::unique_ptr<MappedRegion>> map_stitched(const OsFile& file, std::span<const FilePiece> pieces,
                                                   std::atomic<bool>* also_lost) {
  std::uint64_t size = 0;
  std::uint64_t end = 0;
  for (const FilePiece& piece : pieces) {
    if (piece.size > std::numeric_limits<std::size_t>::max() / 2 - size) {
      return Error{ErrorCode::kNoResource, "the pieces together do not fit into this address space"};
    }
    size += piece.size;
    end = std::max(end, piece.file_offset + piece.size);
  }
  FATCTX_TRY(check_mappable(file, end));
  const auto whole = static_cast<std::size_t>((size + page_size() - 1) / page_size() * page_size());
  void* const reserved = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return os_error(errno, fmt::format("cannot reserve {} bytes of addresses", whole));
  Addresses addresses(reserved, Unmap{whole});
  auto* at = static_cast<std::byte*>(reserved);
  for (const FilePiece& piece : pieces) {
    const auto length = static_cast<std::size_t>(piece.size);
    if (::mmap(at, length, PROT_READ, MAP_SHARED | MAP_FIXED, file.descriptor(),
               static_cast<off_t>(file.base() + piece.file_offset)) == MAP_FAILED) {
      return os_error(errno,
                      fmt::format("cannot map {} bytes from byte {:#x} of the file", piece.size, piece.file_offset));
    }
    at += length;
  }
  // Weights do not belong into core dumps. A kernel without the advice keeps working.
  (void)::madvise(reserved, whole, MADV_DONTDUMP);
  FATCTX_TRY(check_mappable(file, end));
  return std::unique_ptr<MappedRegion>(
      std::make_unique<StitchedRegion>(std::move(addresses), static_cast<std::size_t>(size), also_lost));
}

}  // namespace fatctx::mapping
