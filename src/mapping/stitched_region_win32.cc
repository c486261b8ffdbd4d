// Maps pieces at addresses that were free a moment ago: reserves a range to find it, releases it, and requests each
// piece at its address. Other code may take a part of the range in between. The system then refuses our piece without
// overwriting anything, and the whole range is tried again elsewhere. Placeholders (MapViewOfFile3) leave no such gap.
// They are missing before Windows 10 1803 and in Wine 8, where this code is tested.
//
// A map begins at a multiple of 64 KiB, in the file and in memory: see map_granule_bytes().
#include "mapping/stitched_region.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "mapping/file_section.h"
#include "mapping/os_error.h"
#include "mapping/unique_handle.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {
namespace {

constexpr int kMapAttempts = 16;

// A set of adjacent maps that is unmapped as a whole.
class Views {
 public:
  Views() noexcept = default;
  Views(Views&& other) noexcept : addresses_(std::move(other.addresses_)) { other.addresses_.clear(); }
  Views& operator=(Views&&) = delete;
  ~Views() { undo(); }

  void undo() noexcept {
    for (void* address : addresses_) (void)::UnmapViewOfFile(address);
    addresses_.clear();
  }
  void reserve(std::size_t count) { addresses_.reserve(count); }
  void add(void* address) { addresses_.push_back(address); }
  [[nodiscard]] const std::byte* begin() const noexcept { return static_cast<const std::byte*>(addresses_.front()); }

 private:
  std::vector<void*> addresses_;
};

class StitchedRegion final : public MappedRegion {
 public:
  StitchedRegion(Views views, std::size_t size) : views_(std::move(views)), size_(size) {}
  [[nodiscard]] ByteView bytes() const noexcept override { return {views_.begin(), size_}; }
  [[nodiscard]] bool backed_by_file() const noexcept override { return true; }

 private:
  Views views_;
  std::size_t size_;
};

struct Sections {
  HANDLE file = nullptr;
  std::vector<HANDLE> built;  // by block
  std::uint64_t base = 0;
};

// The sections of blocks, and those that were made for this call. A block is either memory, whose handle is a section,
// or a file of a cache folder, which needs one.
struct BuiltSections {
  std::vector<HANDLE> handles;
  std::vector<UniqueHandle> made;
};

Result<BuiltSections> sections_of_blocks(std::span<const MixedPiece> pieces, const SealableBlock* built) {
  std::size_t count = 0;
  for (const MixedPiece& piece : pieces) {
    if (piece.built && built != nullptr) count = std::max(count, std::size_t{piece.block} + 1);
  }
  BuiltSections sections;
  for (std::size_t block = 0; block < count; ++block) {
    HANDLE const handle = handle_of(built[block].descriptor);
    UniqueHandle made(::CreateFileMappingW(handle, nullptr, PAGE_READONLY, 0, 0, nullptr));
    // The system calls such a handle invalid here. Wine answers all questions about a section as if it were a file.
    if (!made.valid() && ::GetLastError() == ERROR_INVALID_HANDLE) {
      sections.handles.push_back(handle);
      continue;
    }
    if (!made.valid()) return os_error(last_error(), "cannot map the file of a view");
    sections.made.push_back(std::move(made));
    sections.handles.push_back(sections.made.back().get());
  }
  return sections;
}

// Returns 0, or the error of the first piece that could not be mapped.
DWORD map_at(std::byte* at, std::span<const MixedPiece> pieces, const Sections& sections, Views& views) {
  for (const MixedPiece& piece : pieces) {
    const std::uint64_t offset = piece.built ? piece.offset : sections.base + piece.offset;
    HANDLE const section = !piece.built                           ? sections.file
                           : piece.block >= sections.built.size() ? nullptr
                                                                  : sections.built[piece.block];
    void* const view = ::MapViewOfFileEx(section, FILE_MAP_READ, static_cast<DWORD>(offset >> 32),
                                         static_cast<DWORD>(offset), static_cast<std::size_t>(piece.size), at);
    if (view == nullptr) {
      const DWORD error = ::GetLastError();
      views.undo();
      return error;
    }
    views.add(view);
    at += piece.size;
  }
  return NO_ERROR;
}

// Returns an address with `size` free bytes at this moment.
Result<std::byte*> free_addresses(std::size_t size) {
  void* const reserved = ::VirtualAlloc(nullptr, size, MEM_RESERVE, PAGE_NOACCESS);
  if (reserved == nullptr) {
    return os_error(static_cast<int>(::GetLastError()), fmt::format("cannot reserve {} bytes of addresses", size));
  }
  (void)::VirtualFree(reserved, 0, MEM_RELEASE);
  return static_cast<std::byte*>(reserved);
}

}  // namespace

Result<std::unique_ptr<MappedRegion>> map_mixed(const OsFile& file, std::span<const MixedPiece> pieces,
                                                const SealableBlock* built, std::atomic<bool>* /*also_lost*/) {
  std::uint64_t size = 0;
  std::uint64_t end = 0;  // in the file; 0 if no piece is of the file
  for (const MixedPiece& piece : pieces) {
    if (piece.size > std::numeric_limits<std::size_t>::max() / 2 - size) {
      return Error{ErrorCode::kNoResource, "the pieces together do not fit into this address space"};
    }
    size += piece.size;
    if (!piece.built) end = std::max(end, piece.offset + piece.size);
  }
  if (size == 0) return Error{ErrorCode::kInvalidArgument, "an empty range cannot be mapped"};
  FATCTX_ASSIGN(BuiltSections of_blocks, sections_of_blocks(pieces, built));
  Sections sections{.built = std::move(of_blocks.handles), .base = file.base()};
  UniqueHandle section;
  if (end != 0) {
    FATCTX_TRY(check_mappable(file, end));
    FATCTX_ASSIGN(section, section_of(file));
    sections.file = section.get();
  }
  Views views;
  views.reserve(pieces.size());
  DWORD error = NO_ERROR;
  for (int attempt = 0; attempt < kMapAttempts; ++attempt) {
    FATCTX_ASSIGN(std::byte* const at, free_addresses(static_cast<std::size_t>(size)));
    error = map_at(at, pieces, sections, views);
    if (error != ERROR_INVALID_ADDRESS) break;  // no other code was in the way, or retrying cannot help
  }
  if (error != NO_ERROR) {
    return os_error(static_cast<int>(error), fmt::format("cannot map {} pieces side by side", pieces.size()));
  }
  if (end != 0) FATCTX_TRY(check_mappable(file, end));
  return std::unique_ptr<MappedRegion>(
      std::make_unique<StitchedRegion>(std::move(views), static_cast<std::size_t>(size)));
}

}  // namespace fatctx::mapping
