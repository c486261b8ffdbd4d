// Devices as JSON.
#pragma once

#include "base/json.h"
#include "fatctx/select.h"

namespace fatctx::runtime {

// Returns the fields of fatctx.device/1 without the schema. Unknown fields are left out.
[[nodiscard]] Json device_fields(const Device& device);
// Returns the same fields with the schema.
[[nodiscard]] Json device_document(const Device& device);

}  // namespace fatctx::runtime
