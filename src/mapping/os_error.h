// Turns errno into an Error, in one place.
#pragma once

#include <string_view>

#include "fatctx/base/error.h"

namespace fatctx::mapping {

// Makes an Error of a system error number. `what` names the attempt and its object: "cannot open m.fatctx".
[[nodiscard]] Error os_error(int error_number, std::string_view what);

}  // namespace fatctx::mapping
