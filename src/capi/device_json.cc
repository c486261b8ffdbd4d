// Devices and sessions through C, as JSON.
#include "capi/objects.h"

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_device_detection_json(fatctx_device device, char* buffer, size_t capacity, size_t* size,
                                     fatctx_error* error) {
  return with_object(device, error, [&](const fatctx::Detection& detection) {
    return put_text(fatctx::detection_to_json(detection), buffer, capacity, size);
  });
}

int32_t fatctx_device_json(fatctx_device device, char* buffer, size_t capacity, size_t* size, fatctx_error* error) {
  return with_object(device, error, [&](const fatctx::Detection& detection) {
    return put_text(fatctx::device_to_json(detection.device), buffer, capacity, size);
  });
}

int32_t fatctx_session_json(fatctx_session session, char* buffer, size_t capacity, size_t* size, fatctx_error* error) {
  return with_object(session, error, [&](const fatctx::Session& object) -> fatctx::Status {
    FATCTX_ASSIGN(const std::string json, object.report_json());
    return put_text(json, buffer, capacity, size);
  });
}

}  // extern "C"
