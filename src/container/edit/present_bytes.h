// What new records have in common with the file that they are appended to, told from hashes that the file holds: of
// records and of leaves. The cost follows the new bytes and the number of leaves, not the size of the file.
#pragma once

#include "container/read/parse.h"
#include "container/write/plan.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Gives each new record that the file has as a whole the index of that record; of the others, leaves of 64 KiB that the
// file or an earlier new record has become slices of those. Every hit is confirmed by comparing bytes; bytes of the
// file that cannot be read or do not match their leaf are not found. Fills in the hashes of the records.
//
// `left_out` says in which records of `toc` nothing is found: those that the new generation does not have any more, so
// that their bytes can be given up, and those that are alone.
// Errors: those of reading the inputs, changed.
[[nodiscard]] Status find_present_bytes(Plan& plan, const mapping::OsFile& file, const Toc& toc,
                                        const std::vector<bool>& left_out);

}  // namespace fatctx::container
