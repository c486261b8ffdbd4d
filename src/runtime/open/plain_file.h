// A file that is not a container.
#pragma once

#include <memory>
#include <string>

#include "fatctx/open_options.h"
#include "fatctx/source.h"
#include "mapping/file_identity.h"
#include "mapping/os_file.h"

namespace fatctx {

struct PlainFile {
  std::string name;  // as used in reports and errors
  std::shared_ptr<mapping::OsFile> file;
  mapping::FileIdentity identity;

  // Opens the source. Errors: not_found, not_regular_file, truncated (a part of a file that does not exist),
  // remote_filesystem (only with require_local), io.
  [[nodiscard]] static Result<PlainFile> open(const Source& source, const OpenOptions& options);
  // Checks that the file looks as it did when it was opened. Errors: changed.
  [[nodiscard]] Status check_still() const;
};

}  // namespace fatctx
