// A model: a container with the target chosen.
#pragma once

#include <nanobind/nanobind.h>

#include "fatctx/model.h"
#include "select.h"

namespace fatctx::python {

struct BoundModel {
  Model model;
  SelectPolicy policy;  // for the explanation of its selection
};

#define FATCTX_ON_DAMAGE_KEYWORD "on_damage: str = \"fail\""

// Takes its keyword out of `keywords`. Raises TypeError, InvalidArgument.
[[nodiscard]] OnDamage take_on_damage(nb::dict& keywords);
// `device` as for device_from(). Raises NoMatch, InvalidArgument, and what a damaged file raises.
[[nodiscard]] BoundModel choose_model(const Container& container, nb::handle device, const SelectPolicy& policy,
                                      OnDamage on_damage);

void bind_model(nb::module_& module);

}  // namespace fatctx::python
