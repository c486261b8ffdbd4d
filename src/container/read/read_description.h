// Reads the description of an opened container.
#pragma once

#include "container/read/parse.h"
#include "fatctx/description.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Reads the description. Errors: those of read_metadata_record and decode_description.
[[nodiscard]] Result<ContainerDescription> read_description(const mapping::OsFile& file, const Toc& toc);
// Reads the description for a caller that will write it again.
// Errors: also unsupported, if it holds fields that this version does not know; a rewrite would lose them.
[[nodiscard]] Result<ContainerDescription> read_whole_description(const mapping::OsFile& file, const Toc& toc);

}  // namespace fatctx::container
