// Reads and writes key pairs as files, with one line of text each.
#pragma once

#include <string>

#include "container/format/crypto.h"
#include "fatctx/base/result.h"

namespace fatctx::container {

// Reads a secret key. Errors: not_found, operation_not_permitted (users other than its owner may read it),
// invalid_argument, io.
[[nodiscard]] Result<SigningKey> read_signing_key(const std::string& path);

}  // namespace fatctx::container
