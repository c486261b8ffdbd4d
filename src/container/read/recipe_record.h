// Recipe records of a file: their program read and checked, and what it touches.
#pragma once

#include <vector>

#include "container/read/checked_bytes.h"
#include "container/read/leaves.h"
#include "container/read/parse.h"
#include "container/read/recipe.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Where the program lies in the file, packed as it is: the first slice. Requires: the record is a recipe.
[[nodiscard]] ByteRange program_of(const Toc& toc, const RecordInfo& record);
// The ranges of the file that its copies may read: the further slices.
[[nodiscard]] std::vector<ByteRange> sources_of(const Toc& toc, const RecordInfo& record);

// The program that `stored` holds, which lies at `where` in the file, as it is or as an lz4 frame.
// Errors: codec (F41), limit_exceeded (F42).
[[nodiscard]] Result<std::vector<std::byte>> unpack_program(std::vector<std::byte> stored, bool packed,
                                                            ByteRange where);

// Reads the program through its leaves, unpacks it and checks every rule of it. Memory: the program, at most 256 MiB,
// and 32 bytes a step; the budget allows it before it is taken, and counts it while the recipe lives.
// Requires: the record is a supported recipe.
// Errors: checksum_mismatch (F26), codec (F41), malformed and limit_exceeded (F39, F42), limit_exceeded without a rule
// (WorkBudget), unsupported, truncated, io; the caller names the record.
[[nodiscard]] Result<Recipe> read_recipe(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record,
                                         const WorkBudget& budget);
[[nodiscard]] Result<Recipe> read_recipe(CheckedBytes& bytes, const Toc& toc, const RecordInfo& record,
                                         const WorkBudget& budget);

// The leaves that making `part` of the record touches: those of its program and of what its copies read. Sorted,
// joined. Requires: `part` lies in the record.
[[nodiscard]] std::vector<SegmentLeaves> leaves_under(const Toc& toc, const RecordInfo& record, const Recipe& recipe,
                                                      ByteRange part);

// The bytes of the record as a stream, in pieces of at most one leaf. Nothing of a damaged leaf is handed on.
// The budget allows all of them before the first is made.
// Memory: that of the recipe and of CheckedBytes. Errors: those of read_recipe, what `sink` returns.
[[nodiscard]] Status stream_recipe(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record,
                                   const WorkBudget& budget, const StreamSink& sink);

}  // namespace fatctx::container
