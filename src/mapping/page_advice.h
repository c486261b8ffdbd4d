// Advises the system about mapped pages: to bring them in, or to drop them.
//
// Our own code never touches a page for this. So a truncated file or a failing disk gives an error number and not a
// signal.
#pragma once

#include <cstdint>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::mapping {

enum class PopulateMethod : std::uint8_t {
  kPopulate,   // the pages are in this process's page table
  kReadAhead,  // an older kernel: the page cache has the bytes; the first touch of a page still faults
};

// Brings the pages that hold `range` of `mapped` into memory and waits for them. `mapped` is a map of `file` from byte
// 0 on. Offsets in errors count from there.
//
// Requires: `range` is inside `mapped`.
// Errors: changed (the file ends before the range does), io (the system could not read; the first bad page is named),
// no_resource.
// Cost: one system call where the kernel can populate (Linux 5.14), else a read of the range.
[[nodiscard]] Result<PopulateMethod> populate(const OsFile& file, ByteView mapped, ByteRange range);
// Populates a map that shows the file in another order: `bytes` are those from `file_offset` of `file` on.
[[nodiscard]] Result<PopulateMethod> populate_at(const OsFile& file, ByteView bytes, std::uint64_t file_offset);

// Drops the whole pages inside `range` from memory. Views stay valid: the next touch reads a page from the file again.
// Returns the size of these pages in bytes.
//
// Requires: `mapped` is a shared map of a file; memory of another kind would lose its content.
// Errors: operation_not_permitted (pages of it are locked), no_resource, io.
[[nodiscard]] Result<std::uint64_t> drop_pages(ByteView mapped, ByteRange range);

// Asks the system to drop `range` of `file` from its page cache. Pages that another process has mapped stay. The system
// may silently ignore the request. Does nothing for a file without a descriptor.
void drop_cache(const OsFile& file, ByteRange range) noexcept;

}  // namespace fatctx::mapping
