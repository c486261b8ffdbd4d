// Names the files that a command must not write, even with --force.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "fatctx/base/result.h"

namespace fatctx::tools {

struct InputFile {
  std::string_view what;  // "container"
  std::string path;       // empty: no such file
};

// Returns true if two paths lead to one file. Compares only the names if a file does not exist.
[[nodiscard]] bool same_file(const std::string& a, const std::string& b);
// Checks the output path. Errors: invalid_argument (the output is one of the files that the command reads).
[[nodiscard]] Status check_is_no_input(const std::string& output, std::initializer_list<InputFile> inputs);

}  // namespace fatctx::tools
