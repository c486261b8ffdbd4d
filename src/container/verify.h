// Checking a whole container, or one record of it: everything an open skips because it would cost time.
#pragma once

#include "container/parse.h"
#include "container/trust.h"
#include "fatctx/container.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Damage is a finding, and so is a file that `trust` refuses; the Result fails only when reading fails for another
// reason than damage. `generation`: as for read_generation(). Payload of a signed generation is compared with XXH3 and
// with SHA-256.
[[nodiscard]] Result<VerifyReport> verify_container(const mapping::OsFile& file, const VerifyOptions& options,
                                                    std::uint64_t generation = 0, const Trust& trust = {});
[[nodiscard]] Result<VerifyReport> verify_record(const mapping::OsFile& file, const Header& header, const Toc& toc,
                                                 const RecordInfo& record, const VerifyOptions& options);

}  // namespace fatctx::container
