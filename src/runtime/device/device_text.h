// Describes a device for explanations.
#pragma once

#include <string>

#include "base/json.h"
#include "fatctx/select.h"

namespace fatctx::runtime {

// Returns a short text: "cpu x86-64-v3+avx-vnni", "htp SM8750 soc 69 v79 vtcm 8 sdk 2.50".
[[nodiscard]] std::string device_text(const Device& device);

// Returns the fields of fatctx.device/1 without the schema. Unknown fields are left out.
[[nodiscard]] Json device_fields(const Device& device);
// Returns the same fields with the schema.
[[nodiscard]] Json device_document(const Device& device);

}  // namespace fatctx::runtime
