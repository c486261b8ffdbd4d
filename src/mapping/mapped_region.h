// A read-only map of a file, from its first byte: byte 0, or the start of a part of a file.
//
// POSIX systems have two implementations of the same function: mapped_region_boost_posix.cc (the default) and
// mapped_region_raw_posix.cc. Both are built and tested; map_file() is the one that the build selects.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::mapping {

// A map that lasts as long as the object. The file may be replaced by rename. If it is truncated, touching the lost
// pages raises SIGBUS in the thread that touches them, unless the guard of bus_guard.h is installed.
//
// Ownership: unmaps when destroyed. Threads: immutable.
class MappedRegion {
 public:
  virtual ~MappedRegion() = default;
  [[nodiscard]] virtual ByteView bytes() const noexcept = 0;
  // Returns whether dropped pages can be read again from the file. Memory of any other kind would lose its content.
  [[nodiscard]] virtual bool backed_by_file() const noexcept { return false; }
  // Returns true once the guard has replaced lost bytes by zeros. Sticky.
  [[nodiscard]] virtual bool lost() const noexcept { return false; }
};

// Maps [0, size) shared and read-only. Compares the size of the file after mapping, because mapping past the end
// silently succeeds. Core dumps do not have such maps, unless the user's coredump_filter asks for them. `size` must not
// be zero. A part of a file is mapped from the
// page below its first byte; bytes that are already in memory are returned themselves.
// Errors: truncated (the file is shorter), no_resource (the system refuses; the message names the remedy), io.
[[nodiscard]] Result<std::unique_ptr<MappedRegion>> map_file(const OsFile& file, std::uint64_t size);

[[nodiscard]] Result<std::unique_ptr<MappedRegion>> map_file_boost(const OsFile& file, std::uint64_t size);
[[nodiscard]] Result<std::unique_ptr<MappedRegion>> map_file_raw(const OsFile& file, std::uint64_t size);

// Returns how map_file() maps: "Boost.Interprocess", "mmap", "MapViewOfFile". Static storage.
[[nodiscard]] std::string_view mapping_method() noexcept;
[[nodiscard]] std::string_view raw_mapping_method() noexcept;
// Returns whose system calls this folder uses: "posix", "win32". Static storage.
[[nodiscard]] std::string_view provider_name() noexcept;
[[nodiscard]] std::uint64_t page_bytes() noexcept;
// Returns the unit of map starts, in the file and in memory: a page, or 64 KiB on Windows.
[[nodiscard]] std::uint64_t map_granule_bytes() noexcept;

// Checks that a map of this size is possible here at all. Makes no system call.
[[nodiscard]] Status check_map_size(std::uint64_t size);
// Checks this and that the file is (still) at least `size` bytes long.
[[nodiscard]] Status check_mappable(const OsFile& file, std::uint64_t size);

}  // namespace fatctx::mapping
