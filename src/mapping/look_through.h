// Looks at every byte of a range of a file, in place where the file allows it, else in copies.
#pragma once

#include <cstdint>
#include <functional>

#include "mapping/os_file.h"

namespace fatctx::mapping {

// A callback after each piece, with its size. Unlike a Look it may call anybody. An error stops the walk.
using AfterPiece = std::function<Status(std::uint64_t size)>;

// Calls `look` for the bytes of `range` in order, in pieces that begin a multiple of 64 KiB after its first byte.
// Memory: 1 MiB, if bytes have to be copied. Errors: those of read_at, OsFile::show and `after`.
[[nodiscard]] Status look_through(const OsFile& file, ByteRange range, const Look& look, const AfterPiece& after);

}  // namespace fatctx::mapping
