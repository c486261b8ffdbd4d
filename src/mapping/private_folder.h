// The descriptor behind fatctx/private_folder.h.
#pragma once

#include <string>

#include "fatctx/base/result.h"
#include "fatctx/private_folder.h"
#include "mapping/unique_fd.h"

namespace fatctx::mapping {

// Opens the folder and checks the owner and the mode of what it opened. Errors: those of check_private_folder.
[[nodiscard]] Result<UniqueFd> open_private_folder(const std::string& path);

}  // namespace fatctx::mapping
