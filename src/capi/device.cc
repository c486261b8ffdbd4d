// Devices through C.
#include "capi/objects.h"

using namespace fatctx::capi;

namespace fatctx::capi {

Detection detection_of(Device device) {
  Detection detection;
  detection.device = std::move(device);
  return detection;
}

}  // namespace fatctx::capi

namespace {

std::optional<std::uint32_t> known(std::uint32_t number) {
  return number == 0 ? std::nullopt : std::optional<std::uint32_t>(number);
}

fatctx::Result<fatctx::DetectOptions> detect_options_in(const fatctx_detect_options* options) {
  fatctx_detect_options given = {};
  given.struct_size = sizeof given;
  if (options != nullptr) FATCTX_TRY(read_sized(options, given));
  fatctx::DetectOptions result = {.soc = text_in(given.soc),
                                  .arch = text_in(given.arch),
                                  .vtcm_mb = known(given.vtcm_mb),
                                  .backend = {},
                                  .root = text_in(given.root),
                                  .soc_table = {},
                                  .environment = given.environment != 0};
  if (given.table.id != 0) {
    FATCTX_ASSIGN(const auto table, find(given.table));
    result.soc_table = *table;
  }
  if (given.backend_soc != 0 || given.backend_arch != nullptr || given.backend_vtcm_mb != 0) {
    result.backend = fatctx::BackendPlatform{.qnn_soc = known(given.backend_soc),
                                             .arch = text_in(given.backend_arch),
                                             .vtcm_mb = known(given.backend_vtcm_mb)};
  }
  return result;
}

}  // namespace

extern "C" {

int32_t fatctx_device_detect(const fatctx_detect_options* options, fatctx_device* device, fatctx_error* error) {
  return make_handle(device, "device", error, [&]() -> fatctx::Result<fatctx::Detection> {
    FATCTX_ASSIGN(const fatctx::DetectOptions asked, detect_options_in(options));
    return fatctx::detect_device(asked);
  });
}

int32_t fatctx_device_npu(fatctx_device device, fatctx_device* npu, fatctx_error* error) {
  return make_handle(npu, "npu", error, [&]() -> fatctx::Result<fatctx::Detection> {
    FATCTX_ASSIGN(const auto detection, find(device));
    if (!detection->npu) return fatctx::Error{fatctx::ErrorCode::kNotFound, "the device has no NPU that is known"};
    return detection_of(*detection->npu);
  });
}

int32_t fatctx_device_close(fatctx_device device, fatctx_error* error) { return close_handle(device, error); }

int32_t fatctx_device_parse(const char* text, fatctx_device* device, fatctx_error* error) {
  return make_handle(device, "device", error, [&]() -> fatctx::Result<fatctx::Detection> {
    FATCTX_TRY(not_null(text, "text"));
    FATCTX_ASSIGN(fatctx::Device parsed,
                  *text == '{' ? fatctx::device_from_json(text) : fatctx::device_from_text(text));
    return detection_of(std::move(parsed));
  });
}

}  // extern "C"
