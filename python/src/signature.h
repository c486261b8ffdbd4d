// Binds keys and signatures.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "fatctx/keys.h"

namespace fatctx::python {

namespace nb = nanobind;

// Converts keys. None requests no signature; otherwise `keys` is an iterable. Raises TypeError, and
// InvalidArgument for an empty one.
[[nodiscard]] std::vector<PublicKey> trusted_keys_from(nb::handle keys);

void bind_signature(nb::module_& module);

}  // namespace fatctx::python
