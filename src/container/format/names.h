// Checks names in a container (rule F29). The packer and the parser call the same function.
#pragma once

#include <cstddef>
#include <string_view>

#include "fatctx/base/result.h"

namespace fatctx::container {

// Returns whether `text` is well-formed UTF-8: no overlong form, no surrogate, nothing above U+10FFFF, no truncated
// sequence.
[[nodiscard]] bool is_valid_utf8(std::string_view text) noexcept;

// Checks that a name has 1 to `max_bytes` bytes of well-formed UTF-8 without control characters (U+0000..U+001F,
// U+007F..U+009F) and, unless `allow_slash`, without `/`. Names are not normalised: two spellings of one letter are two
// names.
//
// `what` is the word for the name in messages, such as "record name". A message never repeats bytes that are not
// well-formed.
// Errors: malformed (F29). A caller that checks its own user's input turns the code into invalid_argument.
[[nodiscard]] Status check_name(std::string_view name, std::size_t max_bytes, bool allow_slash, std::string_view what);

}  // namespace fatctx::container
