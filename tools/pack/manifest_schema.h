// docs/manifest.schema.json, as it was when this program was built.
#pragma once

#include <string_view>

namespace fatctx::tools {

// JSON Schema 2020-12, ending in a line feed. Static storage.
[[nodiscard]] std::string_view manifest_schema() noexcept;

}  // namespace fatctx::tools
