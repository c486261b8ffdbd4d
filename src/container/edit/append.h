// Appends to any file, real or in memory. Appender::open() calls this with a locked file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fatctx/appender.h"
#include "mapping/os_file.h"

namespace fatctx {

// Opens an appender over `file`; errors call it `path`. Errors: those of Appender::open except for the lock.
[[nodiscard]] Result<Appender> appender_over(std::unique_ptr<mapping::OsFile> file, std::string path,
                                             const AppendOptions& options);

// Leaves out the rows of this record in the generation that commit() makes. This takes back an append without writing
// the file anew; the bytes of the record are dead then. Errors: not_found (no record with this id and name),
// operation_not_permitted as add(). commit() returns bad_reference if a remaining record needs it.
[[nodiscard]] Status leave_out(Appender& appender, std::uint32_t record_id, const std::string& name);

}  // namespace fatctx
