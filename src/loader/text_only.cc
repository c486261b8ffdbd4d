// Functions of the C interface that speak text and JSON in the whole library, and text alone in the loader.
#include "capi/objects.h"
#include "fatctx/select.h"
#include "loader/refused_options.h"

using namespace fatctx::capi;

namespace {

fatctx::Status check_text(std::uint32_t format) {
  if (format == FATCTX_FORMAT_TEXT) return fatctx::Done{};
  return fatctx::not_in_loader("JSON: ask for FATCTX_FORMAT_TEXT");
}

}  // namespace

extern "C" {

int32_t fatctx_device_parse(const char* text, fatctx_device* device, fatctx_error* error) {
  return make_handle(device, "device", error, [&]() -> fatctx::Result<fatctx::Detection> {
    FATCTX_TRY(not_null(text, "text"));
    if (*text == '{') return fatctx::not_in_loader("devices as JSON: name it as text");
    FATCTX_ASSIGN(fatctx::Device parsed, fatctx::device_from_text(text));
    return detection_of(std::move(parsed));
  });
}

int32_t fatctx_model_explain(fatctx_model model, uint32_t format, char* buffer, size_t capacity, size_t* size,
                             fatctx_error* error) {
  return with_object(model, error, [&](const fatctx::Model& object) -> fatctx::Status {
    FATCTX_TRY(check_text(format));
    return put_text(object.explain(), buffer, capacity, size);
  });
}

int32_t fatctx_container_explain(fatctx_container container, const fatctx_model_options* options, uint32_t format,
                                 char* buffer, size_t capacity, size_t* size, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_TRY(check_text(format));
    FATCTX_ASSIGN(const fatctx::ModelOptions chosen, model_options_in(options));
    FATCTX_ASSIGN(const auto candidates, object.container.candidates());
    const fatctx::Device device =
        chosen.device ? *chosen.device : fatctx::device_for(fatctx::detect_device(), candidates);
    FATCTX_ASSIGN(const fatctx::Selection selection, object.container.select(device, chosen.policy));
    return put_text(fatctx::explain_text(selection, candidates, device, chosen.policy), buffer, capacity, size);
  });
}

}  // extern "C"
