// Produces a DLC that keeps only the chosen context binaries: selects entries, computes the remaining layout, emits the
// bytes.
#pragma once

#include "container/dlc/contents.h"
#include "fatctx/import_dlc.h"
#include "mapping/os_file.h"

namespace fatctx::container::dlc {

// Computes the smaller DLC. Errors: those of read_contents; no_match, bad_reference. The caller names the file.
[[nodiscard]] Result<ThinDlc> cut(const mapping::OsFile& archive, std::uint64_t size, const DlcChoice& choice);

// Writes the bytes. Reads ranges of the archive in pieces of a fixed size.
[[nodiscard]] Status write_pieces(const mapping::OsFile& archive, const ThinDlc& thin, mapping::OsFile& to);

}  // namespace fatctx::container::dlc
