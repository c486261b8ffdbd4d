// The section object between a file and its maps on Windows. For the _win32.cc files of this folder only.
#pragma once

#include "fatctx/base/result.h"
#include "mapping/os_file.h"
#include "mapping/unique_handle.h"

namespace fatctx::mapping {

// Makes a section of the whole file at its present size, for reading. Maps keep it alive; its handle may be closed once
// they are made.
// Errors: no_resource, io, invalid_argument (`file` has no descriptor).
[[nodiscard]] Result<UniqueHandle> section_of(const OsFile& file);

}  // namespace fatctx::mapping
