// The seam of appending: any file, real or in memory. Appender::open() is this over a locked file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fatctx/appender.h"
#include "mapping/os_file.h"

namespace fatctx {

struct AppenderAccess {
  // `path` is what errors call the file. Errors: those of Appender::open but for the lock.
  [[nodiscard]] static Result<Appender> over(std::unique_ptr<mapping::OsFile> file, std::string path,
                                             const AppendOptions& options);

  // The generation that commit() makes has no rows for these records of the file: an append is taken back without
  // writing the file anew. Their bytes are dead then. Errors: not_found (no record of this id and name),
  // operation_not_permitted as add(); commit() says bad_reference if a record that stays needs one of them.
  [[nodiscard]] static Status leave_out(Appender& appender, std::uint32_t record_id, const std::string& name);
};

}  // namespace fatctx
