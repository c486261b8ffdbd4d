// Streams the logical bytes of a record: reads with pread, checks leaf by leaf, and decompresses or applies a recipe if
// the record is stored so. Or checks them only, without a copy where that is safe.
#pragma once

#include "container/format/codec.h"
#include "container/read/leaves.h"
#include "container/read/parse.h"
#include "container/read/work_budget.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Returns unsupported, with the reason, if this version cannot read the record at all.
[[nodiscard]] Status check_readable(const RecordInfo& record, const RecordForm& form);

// Streams the whole record and checks its hash at the end. The budget must allow all bytes before the first is made.
// Hands on no byte of a damaged leaf, and decompresses none. Memory does not depend on the record's size, except for
// the leaf hashes of its segments and the program of a recipe.
// Errors: unsupported; checksum_mismatch with F26 (bytes damaged, naming their range in the file; or leaf hashes
// damaged) or F37 (the record's hash); codec (F41); malformed, limit_exceeded (F39, F42); limit_exceeded without a rule
// (WorkBudget); truncated, io; those of `sink`. Except for unsupported, the caller must name the record.
[[nodiscard]] Status stream_logical(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record,
                                    const WorkBudget& budget, const StreamSink& sink);
// Streams the record in the same way, but checks `record_hash` instead of the hash that the table selects. Leaves are
// compared as above. Requires: the table is signed if `record_hash` includes SHA-256.
[[nodiscard]] Status stream_logical(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record,
                                    LeafHash record_hash, const WorkBudget& budget, const StreamSink& sink);

// Checks the record as stream_logical does, but hands its bytes to nobody. Bytes that are stored plain are looked at
// where they are mapped, if the file allows it. `after` is called after each piece.
[[nodiscard]] Status check_logical(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record,
                                   LeafHash record_hash, const WorkBudget& budget, const mapping::AfterPiece& after);

}  // namespace fatctx::container
