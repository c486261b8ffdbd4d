// Verifies a whole container or one record: every check that an open skips because it takes time.
#pragma once

#include "container/read/parse.h"
#include "container/read/trust.h"
#include "fatctx/record.h"
#include "fatctx/verify.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Verifies the file. Damage is a finding, and so is a file that `trust` refuses; the Result fails only if reading fails
// for another reason than damage. `generation`: as for read_generation(). Payload of a signed generation is compared
// with XXH3 and with SHA-256. `max_made_bytes`: as OpenOptions::max_made_bytes. A check that would make more fails;
// that is not a finding, because the file may be intact. Errors: limit_exceeded, those of reading.
[[nodiscard]] Result<VerifyReport> verify_container(const mapping::OsFile& file, const VerifyOptions& options,
                                                    std::uint64_t generation = 0, const Trust& trust = {},
                                                    std::uint64_t max_made_bytes = 0);
[[nodiscard]] Result<VerifyReport> verify_record(const mapping::OsFile& file, const Header& header, const Toc& toc,
                                                 const RecordInfo& record, const VerifyOptions& options,
                                                 std::uint64_t max_made_bytes = 0);

}  // namespace fatctx::container
