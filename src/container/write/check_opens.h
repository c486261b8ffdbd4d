// Checks a file before anything refers to it: the writer reads its result as a reader would.
#pragma once

#include <cstdint>
#include <span>

#include "container/write/header_build.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// A range that a writer has built and not written yet.
struct LaterBytes {
  std::uint64_t offset = 0;  // offset in the file
  ByteView bytes = {};       // owned by the caller
};

// Reads the header and both copies of the table of contents from `file` and parses them, as an open does. `later`
// replaces the bytes of the file at its offsets; the file may end before it.
// Errors: those of read_toc, internal (another generation would open), io (a copy of the table reads back differently).
[[nodiscard]] Status check_opens(const mapping::OsFile& file, const GenerationFacts& facts,
                                 std::span<const LaterBytes> later = {});

}  // namespace fatctx::container
