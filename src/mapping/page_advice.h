// Advice to the system about mapped pages: bring them in, give them back.
//
// Our own code never touches a page for this: a truncated file or a failing disk then gives an error number, and not a
// signal.
#pragma once

#include <cstdint>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::mapping {

enum class PopulateMethod : std::uint8_t {
  kPopulate,   // the system has put the pages into this process's page table
  kReadAhead,  // an older kernel: the bytes are in the page cache, the first touch of a page still costs a fault
};

// Brings the pages that hold `range` of `mapped` into memory and waits for them. `mapped` is a map of `file` from its
// byte 0 on; offsets in errors count from there.
//
// Requires: `range` is inside `mapped`.
// Errors:   changed (the file ends before the range does), io (the system could not read; the first bad page is named),
//           no_resource.
// Cost:     one system call where the kernel can populate (Linux 5.14), else a read of the range.
[[nodiscard]] Result<PopulateMethod> populate(const OsFile& file, ByteView mapped, ByteRange range);
// The same for a map that shows the file in another order: `bytes` are those from `file_offset` of `file` on.
[[nodiscard]] Result<PopulateMethod> populate_at(const OsFile& file, ByteView bytes, std::uint64_t file_offset);

// Gives back the memory of the whole pages inside `range`. Views stay valid: a page that is touched again comes back
// from the file. Returns how many bytes these pages are.
//
// Requires: `mapped` is a shared map of a file; memory of another kind would lose its content.
// Errors:   operation_not_permitted (pages of it are locked), no_resource, io.
[[nodiscard]] Result<std::uint64_t> drop_pages(ByteView mapped, ByteRange range);

// Asks the system to forget what it caches of `range` of `file`. Pages that another process has mapped stay. A request
// that the system may turn down without a word; a file without descriptor has no cache.
void drop_cache(const OsFile& file, ByteRange range) noexcept;

}  // namespace fatctx::mapping
