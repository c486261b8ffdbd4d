// The file of --auth-file.
#pragma once

#include <string>

#include "fatctx/base/result.h"
#include "tools/source/byte_source.h"

namespace fatctx::tools {

// Reads "user:password" or "Bearer TOKEN" from the first line. An empty path gives none.
// Errors: not_found, invalid_config.
[[nodiscard]] Result<HttpCredentials> read_credentials(const std::string& path);

}  // namespace fatctx::tools
