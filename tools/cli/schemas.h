// The JSON Schemas of docs/schemas, from when this program was built.
#pragma once

#include <string_view>
#include <vector>

namespace fatctx::tools {

struct StoredSchema {
  std::string_view name;  // "info": the file's name, and the schema's name without "fatctx." and version
  std::string_view text;  // JSON Schema 2020-12, ending in a line feed
};

// Returns the schemas in alphabetical order, and the one of a manifest among them. Static storage.
[[nodiscard]] const std::vector<StoredSchema>& stored_schemas();

}  // namespace fatctx::tools
