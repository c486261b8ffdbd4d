// Options that the whole library has and the small loader refuses: src/loader/refused_options.cc.
#include "capi/objects.h"

namespace fatctx::capi {

Status check_in_build(const fatctx_open_options& /*given*/) { return Done{}; }

Progress progress_in(fatctx_progress callback, void* user) {
  if (callback == nullptr) return {};
  return [callback, user](std::uint64_t done, std::uint64_t total) {
    if (callback(user, done, total) != 0) throw Cancelled{};
  };
}

Result<PrepareHook> prepare_hook_of(fatctx_prepare_hook prepare, void* user) {
  return PrepareHook([prepare, user](const PrepareRequest& request) -> Result<std::vector<std::byte>> {
    const std::string device = device_to_json(request.device);
    const fatctx_prepare_request asked = {.struct_size = sizeof asked,
                                          .record_id = request.record.id,
                                          .name = text_out(request.record.name),
                                          .unit = text_out(request.record.key.unit),
                                          .device = text_out(device),
                                          .source = reinterpret_cast<const std::uint8_t*>(request.source.data()),
                                          .source_size = request.source.size()};
    const void* binary = nullptr;
    std::uint64_t size = 0;
    char reason[256] = {};
    if (prepare(user, &asked, &binary, &size, reason, sizeof reason) == 0) {
      const std::string_view why = until_nul(reason);
      return Error{ErrorCode::kSerialiseFailed, std::string(why.empty() ? "the prepare hook does not say why" : why)};
    }
    if (binary == nullptr) size = 0;
    const auto* const bytes = static_cast<const std::byte*>(binary);
    return std::vector<std::byte>(bytes, bytes + size);
  });
}

}  // namespace fatctx::capi
