// Reads a context model on disk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fatctx::ort {

// Returns the values of this attribute in the EPContext nodes, without those that are too long to be a name. Returns
// nothing if there is no file, or if it is not a model.
[[nodiscard]] std::vector<std::string> said_by_context_nodes(const std::string& model, std::string_view attribute);

}  // namespace fatctx::ort
