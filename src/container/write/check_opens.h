// A last look at a file before anything refers to it: a writer reads what it has built as a reader would.
#pragma once

#include <cstdint>
#include <span>

#include "container/write/header_build.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Bytes that a writer has built and has not written yet.
struct LaterBytes {
  std::uint64_t offset = 0;  // in the file
  ByteView bytes = {};       // the caller's
};

// Reads the header and both copies of the table of contents from `file` and parses them, as an open does. `later`
// covers what the file has there; the file may end before it. Errors: those of read_toc, internal (another generation
// would open), io (a copy of the table reads otherwise than it was written).
[[nodiscard]] Status check_opens(const mapping::OsFile& file, const GenerationFacts& facts,
                                 std::span<const LaterBytes> later = {});

}  // namespace fatctx::container
