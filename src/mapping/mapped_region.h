// One read-only map of a file, from its first byte: byte 0, or the beginning of a part of a file.
//
// Two implementations of the same function on POSIX systems: mapped_region_boost_posix.cc (the default) and
// mapped_region_raw_posix.cc. Both are built and tested; map_file() is the one the build chose.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::mapping {

// Ownership: unmaps when destroyed. Threads: immutable.
// The file:  may be replaced by rename; if it is truncated, touching the lost pages raises SIGBUS in the thread that
//            touches them, unless the guard of bus_guard.h is installed.
class MappedRegion {
 public:
  virtual ~MappedRegion() = default;
  [[nodiscard]] virtual ByteView bytes() const noexcept = 0;
  // True if pages that are given back come again from the file. Memory of any other kind would lose its content.
  [[nodiscard]] virtual bool backed_by_file() const noexcept { return false; }
  // Returns true once the guard has replaced lost bytes by zeros. Sticky.
  [[nodiscard]] virtual bool lost() const noexcept { return false; }
};

// Maps [0, size) shared and read-only, left out of core dumps. The size of the file is compared before and after
// mapping, because mapping past the end silently succeeds. `size` must not be zero. A part of a file is mapped from the
// page below its first byte; bytes that are in memory already are handed out as they are.
// Errors: truncated (the file is shorter), no_resource (the system refuses; the message names the remedy), io.
[[nodiscard]] Result<std::unique_ptr<MappedRegion>> map_file(const OsFile& file, std::uint64_t size);

[[nodiscard]] Result<std::unique_ptr<MappedRegion>> map_file_boost(const OsFile& file, std::uint64_t size);
[[nodiscard]] Result<std::unique_ptr<MappedRegion>> map_file_raw(const OsFile& file, std::uint64_t size);

// The way map_file() maps: "Boost.Interprocess", "mmap", "MapViewOfFile". Static storage.
[[nodiscard]] std::string_view mapping_method() noexcept;
[[nodiscard]] std::string_view raw_mapping_method() noexcept;
// Whose calls this folder is built from: "posix", "win32". Static storage.
[[nodiscard]] std::string_view provider_name() noexcept;
[[nodiscard]] std::uint64_t page_bytes() noexcept;
// A map begins at a multiple of this, in the file and in memory: a page, or 64 KiB on Windows.
[[nodiscard]] std::uint64_t map_granule_bytes() noexcept;

// The part both share: is the file (still) at least `size` bytes long?
[[nodiscard]] Status check_mappable(const OsFile& file, std::uint64_t size);

}  // namespace fatctx::mapping
