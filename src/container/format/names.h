// What a name in a container may be (rule F29): the packer and the parser ask the same function.
#pragma once

#include <cstddef>
#include <string_view>

#include "fatctx/base/result.h"

namespace fatctx::container {

// True if `text` is well-formed UTF-8: no overlong form, no surrogate, nothing above U+10FFFF, nothing cut off.
[[nodiscard]] bool is_valid_utf8(std::string_view text) noexcept;

// A name that `check_name` accepts has 1 to `max_bytes` bytes of well-formed UTF-8 without control characters
// (U+0000..U+001F, U+007F..U+009F) and, unless `allow_slash`, without `/`. Names are not normalised: two spellings of
// one letter are two names.
//
// `what` names the kind for the message: "record name". The message never repeats bytes that are not well-formed.
// Errors: malformed (F29). A caller that checks its own user's input turns the code into invalid_argument.
[[nodiscard]] Status check_name(std::string_view name, std::size_t max_bytes, bool allow_slash, std::string_view what);

}  // namespace fatctx::container
