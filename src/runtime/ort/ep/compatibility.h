// The text in a compiled model that states for which backend and runtime it was compiled. ONNX Runtime can judge it
// before the model is loaded.
#pragma once

#include <string>
#include <string_view>

#include "runtime/ort/graph/api.h"

namespace fatctx::ort {

// Returns the metadata key of the text: "ep_compatibility_info.FatctxExecutionProvider". ONNX Runtime defines this key.
[[nodiscard]] std::string compatibility_key();

// Returns for example "fatctx/1 backend=ort-cpu runtime=1.31": the version of the text, the backend, and the runtime
// that compiled the model. Future versions may add words; existing words keep their meaning.
[[nodiscard]] std::string compatibility_text();

struct Compatibility {
  OrtCompiledModelCompatibility level = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
  std::string why;  // a sentence; empty if optimal
};
// Judges a text. The same minor version is optimal; for an older one, compiling again is recommended. A newer one,
// another backend, or an unknown version of the text is unsupported. A text of another provider does not apply.
[[nodiscard]] Compatibility judge_compatibility(std::string_view text);

}  // namespace fatctx::ort
