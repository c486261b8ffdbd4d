// Text or JSON, as a caller asks.
#include <fmt/format.h>

#include "capi/objects.h"

namespace fatctx::capi {

Result<bool> wants_json(std::uint32_t format) {
  if (format <= FATCTX_FORMAT_JSON) return format == FATCTX_FORMAT_JSON;
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("format is {}; allowed are FATCTX_FORMAT_TEXT (0) and FATCTX_FORMAT_JSON (1)", format)};
}

}  // namespace fatctx::capi
