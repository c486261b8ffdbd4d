// Explanations of a choice through C, as text and JSON.
#include "capi/objects.h"

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_model_explain(fatctx_model model, uint32_t format, char* buffer, size_t capacity, size_t* size,
                             fatctx_error* error) {
  return with_object(model, error, [&](const fatctx::Model& object) -> fatctx::Status {
    FATCTX_ASSIGN(const bool json, wants_json(format));
    return put_text(json ? object.explain_json() : object.explain(), buffer, capacity, size);
  });
}

int32_t fatctx_container_explain(fatctx_container container, const fatctx_model_options* options, uint32_t format,
                                 char* buffer, size_t capacity, size_t* size, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_ASSIGN(const bool json, wants_json(format));
    FATCTX_ASSIGN(const fatctx::ModelOptions chosen, model_options_in(options));
    FATCTX_ASSIGN(const auto candidates, object.container.candidates());
    const fatctx::Device device =
        chosen.device ? *chosen.device : fatctx::device_for(fatctx::detect_device(), candidates);
    FATCTX_ASSIGN(const fatctx::Selection selection, object.container.select(device, chosen.policy));
    return put_text(json ? fatctx::explain_json(selection, candidates, device, chosen.policy)
                         : fatctx::explain_text(selection, candidates, device, chosen.policy),
                    buffer, capacity, size);
  });
}

}  // extern "C"
