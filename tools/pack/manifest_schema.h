// A copy of docs/manifest.schema.json, from when this program was built.
#pragma once

#include <string_view>

namespace fatctx::tools {

// Returns JSON Schema 2020-12, ending in a line feed. Static storage.
[[nodiscard]] std::string_view manifest_schema() noexcept;

}  // namespace fatctx::tools
