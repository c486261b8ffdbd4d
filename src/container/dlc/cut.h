// A DLC cut to some of its context binaries: which stay, what of the archive that leaves, and the bytes of it.
#pragma once

#include "container/dlc/contents.h"
#include "fatctx/import_dlc.h"
#include "mapping/os_file.h"

namespace fatctx::container::dlc {

// Errors: those of read_contents; no_match, bad_reference. The caller names the file.
[[nodiscard]] Result<ThinDlc> cut(const mapping::OsFile& archive, std::uint64_t size, const DlcChoice& choice);

// Ranges are read in pieces of a fixed size.
[[nodiscard]] Status write_pieces(const mapping::OsFile& archive, const ThinDlc& thin, mapping::OsFile& to);

}  // namespace fatctx::container::dlc
