// A folder for files that a command needs while it runs.
#pragma once

#include <memory>
#include <string>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// Makes a folder of mode 0700 that is removed with its last owner. Errors: io (no folder for temporary files; the
// message names the remedy), no_space.
[[nodiscard]] Result<std::shared_ptr<std::string>> temporary_folder();

}  // namespace fatctx::tools
