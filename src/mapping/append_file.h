// Opens files to which one writer at a time may append.
#pragma once

#include <memory>
#include <string>

#include "fatctx/base/result.h"
#include "mapping/filesystem_kind.h"
#include "mapping/os_file.h"

namespace fatctx::mapping {

// Opens the file for reading and writing, following no link, and takes its write lock, which the result releases when
// it is destroyed. Readers take no lock and are not disturbed. Never waits.
// Errors: locked (another writer has it), not_found, not_regular_file (also a link), operation_not_permitted (its mode
// or mount does not let this process write), remote_filesystem (a network or FUSE filesystem, or one whose kind the
// system does not report: no order of writes is promised there), unsupported (files cannot be locked here), changed
// (another file took its place before it was locked), no_resource, io.
[[nodiscard]] Result<std::unique_ptr<OsFile>> open_for_appending(const std::string& path);

// Takes the write lock of the file at `path`, so that nobody appends to it while another file takes its name. Returns
// null if nobody can append to it. That is so if the name does not exist or is a link, if the file is read-only for
// this process, or if files cannot be locked there.
// Errors: locked (another process is appending to it), changed, no_resource, io.
[[nodiscard]] Result<std::unique_ptr<OsFile>> lock_for_replacing(const std::string& path);

// Checks that `path` still names `file`, which was opened with it. Errors: changed (it does not), io.
[[nodiscard]] Status check_named(const OsFile& file, const std::string& path);

// Checks that the filesystem promises an order of writes. Errors: remote_filesystem, as above.
[[nodiscard]] Status check_local(const FilesystemKind& kind, const std::string& path);

}  // namespace fatctx::mapping
