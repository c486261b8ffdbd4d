// The implementation of fatctx/private_folder.h that returns the descriptor.
#pragma once

#include <string>

#include "fatctx/base/result.h"
#include "fatctx/private_folder.h"
#include "mapping/unique_fd.h"

namespace fatctx::mapping {

// Opens the folder, and checks owner and mode of the opened folder. Errors: those of check_private_folder.
[[nodiscard]] Result<UniqueFd> open_private_folder(const std::string& path);

// Makes the error for a folder that is not its owner's alone: operation_not_permitted.
[[nodiscard]] Error not_private(const std::string& path, const std::string& why);

}  // namespace fatctx::mapping
