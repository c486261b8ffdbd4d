// A context model as it lies on the disk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fatctx::ort {

// What its EPContext nodes say in the attribute of this name, but for what is too long to be a name. Nothing if there
// is no file, or no model in it.
[[nodiscard]] std::vector<std::string> said_by_context_nodes(const std::string& model, std::string_view attribute);

}  // namespace fatctx::ort
