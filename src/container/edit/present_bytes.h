// Finds bytes of new records in the file that they are appended to, by the file's hashes of records and of leaves. The
// cost depends on the new bytes and the number of leaves, not on the size of the file.
#pragma once

#include "container/read/parse.h"
#include "container/write/plan.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Returns which segments the records of `toc` use, without those in `left_out`.
[[nodiscard]] std::vector<bool> segments_in_use(const Toc& toc, const std::vector<bool>& left_out);

// Finds whole records first: a new record gets the index of an equal record of the file. In the others, leaves of 64
// KiB that exist in the file or in an earlier new record become slices of those. Every match is confirmed by comparing
// bytes. Bytes of the file that cannot be read, or do not match their leaf, never match. Fills in the hashes of the
// records.
//
// `left_out` excludes records of `toc` from the search. These are the records that the new generation drops, so that
// their bytes can be reclaimed, and those that are alone.
// Errors: those of reading the inputs, changed.
[[nodiscard]] Status find_present_bytes(Plan& plan, const mapping::OsFile& file, const Toc& toc,
                                        const std::vector<bool>& left_out);

}  // namespace fatctx::container
