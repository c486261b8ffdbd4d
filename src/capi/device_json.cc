// Devices through C, as text and JSON.
#include "capi/objects.h"

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_device_detection_json(fatctx_device device, char* buffer, size_t capacity, size_t* size,
                                     fatctx_error* error) {
  return with_object(device, error, [&](const fatctx::Detection& detection) {
    return put_text(fatctx::detection_to_json(detection), buffer, capacity, size);
  });
}

int32_t fatctx_device_parse(const char* text, fatctx_device* device, fatctx_error* error) {
  return make_handle(device, "device", error, [&]() -> fatctx::Result<fatctx::Detection> {
    FATCTX_TRY(not_null(text, "text"));
    FATCTX_ASSIGN(fatctx::Device parsed,
                  *text == '{' ? fatctx::device_from_json(text) : fatctx::device_from_text(text));
    return detection_of(std::move(parsed));
  });
}

int32_t fatctx_device_json(fatctx_device device, char* buffer, size_t capacity, size_t* size, fatctx_error* error) {
  return with_object(device, error, [&](const fatctx::Detection& detection) {
    return put_text(fatctx::device_to_json(detection.device), buffer, capacity, size);
  });
}

}  // extern "C"
