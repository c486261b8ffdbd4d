// Binds models: a container with the target chosen.
#pragma once

#include <nanobind/nanobind.h>

#include "fatctx/model.h"
#include "select.h"

namespace fatctx::python {

struct BoundModel {
  Model model;
  SelectPolicy policy;  // explains its selection
};

// The keywords for opening a model, besides those of the policy.
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
                                      ModelKeywords keywords);

void bind_model(nb::module_& module);

}  // namespace fatctx::python
