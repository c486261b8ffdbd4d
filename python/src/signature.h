// Keys and signatures.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "fatctx/keys.h"

namespace fatctx::python {

namespace nb = nanobind;

// None asks for no signature; otherwise an iterable of keys. Raises TypeError, and InvalidArgument for one without any.
[[nodiscard]] std::vector<PublicKey> trusted_keys_from(nb::handle keys);

void bind_signature(nb::module_& module);

}  // namespace fatctx::python
