#include "tools/cli/output_place.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace fatctx::tools {

bool same_file(const std::string& a, const std::string& b) {
  std::error_code not_there;
  return a == b || std::filesystem::equivalent(a, b, not_there);
}

Status check_is_no_input(const std::string& output, std::initializer_list<InputFile> inputs) {
  for (const InputFile& input : inputs) {
    if (input.path.empty() || !same_file(output, input.path)) continue;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: is the {} itself; write to another file", output, input.what)};
  }
  return Done{};
}

}  // namespace fatctx::tools
