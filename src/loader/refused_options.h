// The words with which the loader refuses what only the whole library has.
#pragma once

#include <string_view>

#include "fatctx/base/error.h"

namespace fatctx {

// Returns unsupported: the message names `what` and the library that has it.
[[nodiscard]] Error not_in_loader(std::string_view what);

}  // namespace fatctx
