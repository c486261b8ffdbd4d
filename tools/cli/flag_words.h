// Parses the value of a flag: "key=value,key=value".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// Parses `text`. `flag` is its name in errors; `allowed` is empty if the caller checks the keys.
// Errors: invalid_argument (no "=", an empty value, a key that is not among `allowed`, a key that appears twice).
[[nodiscard]] Result<std::map<std::string, std::string>> flag_words(std::string_view flag, std::string_view text,
                                                                    const std::vector<std::string>& allowed);

}  // namespace fatctx::tools
