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

// `device` as for device_from(). Raises NoMatch, InvalidArgument.
[[nodiscard]] BoundModel choose_model(const Container& container, nb::handle device, const SelectPolicy& policy);

void bind_model(nb::module_& module);

}  // namespace fatctx::python
