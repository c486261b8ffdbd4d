// Devices through C.
#include "capi/objects.h"

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_device_detect(fatctx_device* device, fatctx_error* error) {
  return make_handle(device, "device", error,
                     []() -> fatctx::Result<fatctx::Detection> { return fatctx::detect_device(); });
}

int32_t fatctx_device_parse(const char* text, fatctx_device* device, fatctx_error* error) {
  return make_handle(device, "device", error, [&]() -> fatctx::Result<fatctx::Detection> {
    FATCTX_TRY(not_null(text, "text"));
    FATCTX_ASSIGN(fatctx::Device parsed,
                  *text == '{' ? fatctx::device_from_json(text) : fatctx::device_from_text(text));
    return fatctx::Detection{std::move(parsed), {}};
  });
}

int32_t fatctx_device_json(fatctx_device device, char* buffer, size_t capacity, size_t* size, fatctx_error* error) {
  return with_object(device, error, [&](const fatctx::Detection& detection) {
    return put_text(fatctx::device_to_json(detection.device), buffer, capacity, size);
  });
}

int32_t fatctx_device_close(fatctx_device device, fatctx_error* error) { return close_handle(device, error); }

int32_t fatctx_device_source_count(fatctx_device device, uint64_t* count, fatctx_error* error) {
  return with_object(device, error, [&](const fatctx::Detection& detection) -> fatctx::Status {
    FATCTX_TRY(not_null(count, "count"));
    *count = detection.sources.size();
    return fatctx::Done{};
  });
}

int32_t fatctx_device_source_at(fatctx_device device, uint64_t index, fatctx_device_source* source,
                                fatctx_error* error) {
  return with_object(device, error, [&](const fatctx::Detection& detection) -> fatctx::Status {
    FATCTX_TRY(not_null(source, "source"));
    FATCTX_ASSIGN(const fatctx::DetectionSource* const found, item_at(detection.sources, index, "source"));
    fatctx_device_source filled = {};
    filled.name = text_out(found->id);
    filled.raw = text_out(found->raw);
    filled.state = text_out(found->state);
    return write_sized(filled, source, "source");
  });
}

}  // extern "C"
