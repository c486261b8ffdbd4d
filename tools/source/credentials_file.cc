#include "tools/source/credentials_file.h"

#include <fstream>
#include <string_view>

#include <fmt/format.h>

namespace fatctx::tools {

Result<HttpCredentials> read_credentials(const std::string& path) {
  HttpCredentials credentials;
  if (path.empty()) return credentials;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return Error{ErrorCode::kNotFound, fmt::format("{}: no credentials in it", path)};
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  constexpr std::string_view kBearer = "Bearer ";
  const std::size_t colon = line.find(':');
  if (line.starts_with(kBearer)) {
    credentials.bearer = line.substr(kBearer.size());
  } else if (colon != std::string::npos) {
    credentials.user = line.substr(0, colon);
    credentials.password = line.substr(colon + 1);
  } else {
    return Error{ErrorCode::kInvalidConfig,
                 fmt::format("{}: the first line must be \"user:password\" or \"Bearer TOKEN\"", path)};
  }
  return credentials;
}

}  // namespace fatctx::tools
