// The logical bytes of a record as a stream: read by pread, checked leaf by leaf, decompressed or built by a recipe if
// they are stored so.
#pragma once

#include "container/format/codec.h"
#include "container/read/leaves.h"
#include "container/read/parse.h"
#include "container/read/work_budget.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// unsupported, saying why this version cannot read the record at all; Done if it can.
[[nodiscard]] Status check_readable(const RecordInfo& record, const RecordForm& form);

// The budget allows all bytes before the first is made. Hands on nothing of a damaged leaf, and decompresses nothing of
// it. The record's hash is checked at the end. Memory does not depend on the record's size, but for the leaf hashes of
// the segments that it lies in and the program of a recipe. Errors: unsupported; checksum_mismatch with F26 (bytes
// damaged, naming their range in the file; or leaf hashes damaged) or F37 (the record's hash); codec (F41); malformed,
// limit_exceeded (F39, F42); limit_exceeded without a rule (WorkBudget); truncated, io; what `sink` returns. All but
// the first leave it to the caller to name the record.
[[nodiscard]] Status stream_logical(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record,
                                    const WorkBudget& budget, const StreamSink& sink);
// The same with another hash of the record than the one that the table asks for; leaves are compared as ever.
// Requires: SHA-256 only of a table that is signed.
[[nodiscard]] Status stream_logical(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record,
                                    LeafHash record_hash, const WorkBudget& budget, const StreamSink& sink);

}  // namespace fatctx::container
