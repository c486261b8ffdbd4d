#include "mapping/private_folder.h"

#include <fmt/format.h>

namespace fatctx {

Error mapping::not_private(const std::string& path, const std::string& why) {
  return {ErrorCode::kOperationNotPermitted, fmt::format("cache folder {}: {}", path, why)};
}

Status check_private_folder(const std::string& path) {
  FATCTX_TRY(mapping::open_private_folder(path));
  return Done{};
}

}  // namespace fatctx
