// A file that one writer at a time may add to.
#pragma once

#include <memory>
#include <string>

#include "fatctx/base/result.h"
#include "mapping/filesystem_kind.h"
#include "mapping/os_file.h"

namespace fatctx::mapping {

// Opens the file for reading and writing, following no link, and takes its write lock, which goes when the result is
// destroyed. Readers take no lock and are not disturbed. Never waits.
// Errors: locked (another writer has it), not_found, not_regular_file (also a link), operation_not_permitted (its mode
// or mount does not let this process write), remote_filesystem (a network or FUSE filesystem, or one that cannot be
// asked: no order of writes is promised there), unsupported (files cannot be locked here), changed (another file took
// its place before it was locked), no_resource, io.
[[nodiscard]] Result<std::unique_ptr<OsFile>> open_for_appending(const std::string& path);

// Errors: remote_filesystem, as above.
[[nodiscard]] Status check_local(const FilesystemKind& kind, const std::string& path);

}  // namespace fatctx::mapping
