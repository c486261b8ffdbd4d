// A model, a file with the target chosen, and its sessions.
#pragma once

#include <nanobind/nanobind.h>

#include "fatctx/model.h"
#include "select.h"

namespace fatctx::python {

struct BoundModel {
  Model model;
  SelectPolicy policy;  // explains its selection
};

struct BoundSession {
  Session session;
  SelectPolicy policy;
};

// How a model comes to be, beside the policy.
#define FATCTX_MODEL_KEYWORDS \
  "on_damage: str = \"fail\", prepare: typing.Callable[[str, str, bytes, Device], bytes] | None = None"
inline constexpr const char* kModelKeywords = "on_damage, prepare";
struct ModelKeywords {
  OnDamage on_damage = OnDamage::kFail;
  nb::object prepare = nb::none();
};

// Takes `on_damage` out of `keywords`. Raises TypeError, InvalidArgument.
[[nodiscard]] OnDamage take_on_damage(nb::dict& keywords);
// Takes its keywords out of `keywords`, with the same errors.
[[nodiscard]] ModelKeywords take_model_keywords(nb::dict& keywords);
// Chooses a model. `device` as for device_from(). Raises NoMatch, InvalidArgument, the errors of a damaged
// file and the exceptions of `prepare`.
[[nodiscard]] BoundModel choose_model(const Container& container, nb::handle device, const SelectPolicy& policy,
                                      const ModelKeywords& keywords);

void bind_model(nb::module_& module);

}  // namespace fatctx::python
