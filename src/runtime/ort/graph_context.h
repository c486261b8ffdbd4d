// A context model as it lies on the disk.
#pragma once

#include <string>
#include <string_view>

namespace fatctx::ort {

// Whether there is a model with an EPContext node whose attribute of this name is this text. False: no file, no model.
[[nodiscard]] bool has_context_node(const std::string& model, std::string_view attribute, std::string_view text);

}  // namespace fatctx::ort
