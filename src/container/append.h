// The seam of appending: any file, real or in memory. Appender::open() is this over a locked file.
#pragma once

#include <memory>
#include <string>

#include "fatctx/appender.h"
#include "mapping/os_file.h"

namespace fatctx {

struct AppenderAccess {
  // `path` is what errors call the file. Errors: those of Appender::open but for the lock.
  [[nodiscard]] static Result<Appender> over(std::unique_ptr<mapping::OsFile> file, std::string path,
                                             const AppendOptions& options);
};

}  // namespace fatctx
