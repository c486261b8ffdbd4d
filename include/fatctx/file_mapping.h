// The ways in which a consumer gets the bytes of a record: mapped from the file, or copied once because it cannot take
// mapped memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx {

// The switch for file mapping. Every OpenReport and every view's access_path() report the way that was taken.
enum class FileMapping : std::uint8_t {
  kAuto,      // map; if the consumer or the mapping provider says that it cannot, copy once, and say so
  kRequire,   // map; if that is not possible, the error copy_not_allowed names the bytes a copy would take
  kDisabled,  // `disable_file_mapping`: copy, do not map
};
[[nodiscard]] std::string_view file_mapping_name(FileMapping mapping) noexcept;  // "auto", "require", "disabled"
[[nodiscard]] std::optional<FileMapping> file_mapping_from_name(std::string_view name) noexcept;

// A consumer's description of itself, given before it gets any bytes.
struct MappingSupport {
  bool takes_mapped_memory = true;
  std::string reason;  // why not: "librpcmem is missing"; for the report
};
// Called once per model, on the thread that opens it. Must not open the same file (it would wait for itself).
using MappingProbe = std::function<MappingSupport()>;

struct MappingCapability {
  bool available = false;
  std::string how;  // "Boost.Interprocess", "mmap", "MapViewOfFile"
  std::uint64_t page_bytes = 0;
  std::string provider;             // whose calls: "posix", "win32"
  std::uint64_t granule_bytes = 0;  // a map begins at a multiple of this: a page, or 64 KiB on Windows
  bool stitched = false;            // pieces of granules can be mapped side by side in one view
  bool sealed_memory = false;       // copies can be made that nobody can change, and composed views with them
};
// Returns the abilities of this build on this system; `fatctx device` shows them.
[[nodiscard]] MappingCapability file_mapping_capability();

// Returns how often this process copied because a consumer could not take mapped memory (kAuto only). Any thread.
[[nodiscard]] std::uint64_t file_mapping_fallbacks() noexcept;

// Seams for embedders.

// A replacement for the system's mmap: a runtime that has a mapping of its own, or a test.
//
// Ownership: shared by every container that was opened with it. Threads: called from any number of threads at once.
// Exceptions: none may leave it.
class MappingProvider {
 public:
  virtual ~MappingProvider() = default;
  // Returns the name for reports: "hexagon fastrpc".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // Makes `size` bytes of the file behind `descriptor` readable from its byte `offset` on (a multiple of 4096), and
  // keeps them so until unmap(). `descriptor` is borrowed for the call. Errors: unsupported (mapping is not available
  // here: kAuto copies then); the caller gets all other errors.
  [[nodiscard]] virtual Result<ByteView> map(int descriptor, std::uint64_t offset, std::uint64_t size) = 0;
  // Called exactly once for each view that map() gave, after its last use.
  virtual void unmap(ByteView mapped) noexcept = 0;
};

// An allocator of memory that a consumer can share with a device: rpcmem, a memfd, a DMA buffer. Views are then placed
// there. The record is read into it once per process, and all sessions see the same bytes. The library reads the memory
// again to hash it, so it should be memory that the processor caches.
//
// Ownership, Threads, Exceptions: as MappingProvider.
class ViewAllocator {
 public:
  struct Block {
    std::byte* data = nullptr;  // at least as aligned as asked for
    std::uint64_t size_bytes = 0;
    int descriptor = -1;  // for import by a device; -1 if there is none
  };

  virtual ~ViewAllocator() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // Makes a block. Errors: backend_library_missing (the library behind it does not exist), no_resource, out_of_memory.
  [[nodiscard]] virtual Result<Block> allocate(std::uint64_t size_bytes, std::uint64_t alignment) = 0;
  // Called when the block holds the record's bytes, before any view of it is handed out, so that the block can be
  // registered with a device. An error releases the block and is returned to the caller.
  [[nodiscard]] virtual Status filled(const Block& block) {
    (void)block;
    return Done{};
  }
  // Called exactly once for each block that allocate() gave, after the last view of it.
  virtual void release(const Block& block) noexcept = 0;
};

}  // namespace fatctx
