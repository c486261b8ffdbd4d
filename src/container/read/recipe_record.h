// Reads and checks the programs of a file's recipe records, and finds the bytes that they use.
#pragma once

#include <vector>

#include "container/read/checked_bytes.h"
#include "container/read/leaves.h"
#include "container/read/parse.h"
#include "container/read/recipe.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Returns the range of the program in the file, in its stored form: the first slice. Requires: the record is a recipe.
[[nodiscard]] ByteRange program_of(const Toc& toc, const RecordInfo& record);
// Returns the ranges of the file that its copies may read: the slices after the first.
[[nodiscard]] std::vector<ByteRange> sources_of(const Toc& toc, const RecordInfo& record);

// Returns the program in `stored`, which was read from `where` in the file, as it is or as an lz4 frame.
// Errors: codec (F41), limit_exceeded (F42).
[[nodiscard]] Result<std::vector<std::byte>> unpack_program(std::vector<std::byte> stored, bool packed,
                                                            ByteRange where);

// Reads the program through its leaves, unpacks it and checks all its rules. Memory: the program, at most 256 MiB, and
// 32 bytes a step. The budget must allow it before it is allocated, and counts it while the recipe lives.
// Requires: the record is a supported recipe.
// Errors: checksum_mismatch (F26), codec (F41), malformed and limit_exceeded (F39, F42), limit_exceeded without a rule
// (WorkBudget), unsupported, truncated, io; the caller names the record.
[[nodiscard]] Result<Recipe> read_recipe(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record,
                                         const WorkBudget& budget);
[[nodiscard]] Result<Recipe> read_recipe(CheckedBytes& bytes, const Toc& toc, const RecordInfo& record,
                                         const WorkBudget& budget);

// Returns the leaves that are read to make `part` of the record: those of its program and of the ranges that its copies
// read. Sorted and joined. Requires: `part` is inside the record.
[[nodiscard]] std::vector<SegmentLeaves> leaves_under(const Toc& toc, const RecordInfo& record, const Recipe& recipe,
                                                      ByteRange part);

// Streams the bytes of the record, in pieces of at most one leaf. Hands on no byte of a damaged leaf. The budget must
// allow all of them before the first is made.
// Memory: that of the recipe and of CheckedBytes. Errors: those of read_recipe and of `sink`.
[[nodiscard]] Status stream_recipe(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record,
                                   const WorkBudget& budget, const StreamSink& sink);

}  // namespace fatctx::container
