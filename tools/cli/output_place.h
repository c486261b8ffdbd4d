// Where a command must not write, whatever --force says.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "fatctx/base/result.h"

namespace fatctx::tools {

struct InputFile {
  std::string_view what;  // "container"
  std::string path;       // empty: there is none
};

// Whether two paths lead to one file; by name only, where there is none.
[[nodiscard]] bool same_file(const std::string& a, const std::string& b);
// Errors: invalid_argument (the output is one of the files that the command reads).
[[nodiscard]] Status check_is_no_input(const std::string& output, std::initializer_list<InputFile> inputs);

}  // namespace fatctx::tools
