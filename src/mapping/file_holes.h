// Finds and makes the holes of a sparse file: ranges that read as zeros because nothing was ever stored there.
#pragma once

#include <vector>

#include "fatctx/base/bytes.h"
#include "mapping/os_file.h"

namespace fatctx::mapping {

// Returns the holes in `range` of the file, ascending, without gaps between neighbours. Empty if the system or the
// filesystem does not tell, or if the file has no descriptor. Reads no data. A hole says nothing about the bytes that
// should be there, and zeros that were written are no hole.
[[nodiscard]] std::vector<ByteRange> holes_of(const OsFile& file, ByteRange range);

// Makes the range a hole if the filesystem can, and returns whether it could.
[[nodiscard]] bool punch_hole(OsFile& file, ByteRange range) noexcept;

// Makes the range zeros again, as a hole if the filesystem can. Errors: no_space, io.
[[nodiscard]] Status make_hole(OsFile& file, ByteRange range);

}  // namespace fatctx::mapping
