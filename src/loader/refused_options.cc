// Options of the C interface that the loader refuses: the whole library accepts them (src/capi/whole_build.cc).
#include "loader/refused_options.h"

#include <fmt/format.h>

#include "capi/objects.h"

namespace fatctx {

Error not_in_loader(std::string_view what) {
  return {ErrorCode::kUnsupported, fmt::format("the small loader does not have {}; libfatctx has", what)};
}

namespace capi {

Status check_in_build(const fatctx_open_options& given) {
  if (given.cache_folder != nullptr && *given.cache_folder != '\0') return not_in_loader("cache_folder");
  if (given.verify == FATCTX_VERIFY_BESIDE_LOAD) return not_in_loader("FATCTX_VERIFY_BESIDE_LOAD");
#if !FATCTX_LOADER_TRUST
  if (given.trusted_keys != nullptr) return not_in_loader("trusted_keys (it was built without FATCTX_LOADER_TRUST)");
#endif
  return Done{};
}

Result<PrepareHook> prepare_hook_of(fatctx_prepare_hook /*prepare*/, void* /*user*/) {
  return not_in_loader("prepare hooks");
}

}  // namespace capi
}  // namespace fatctx
