// The description of an opened container.
#pragma once

#include "container/read/parse.h"
#include "fatctx/description.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Errors: those of read_metadata_record and decode_description.
[[nodiscard]] Result<ContainerDescription> read_description(const mapping::OsFile& file, const Toc& toc);
// The same for who will write it again. Errors: also unsupported, if it says more than this version knows, which would
// be lost.
[[nodiscard]] Result<ContainerDescription> read_whole_description(const mapping::OsFile& file, const Toc& toc);

}  // namespace fatctx::container
