// The text that a compiled model carries for those who want to know, before loading it, whether it fits.
#pragma once

#include <string>
#include <string_view>

#include "runtime/ort/ep/api.h"

namespace fatctx::ort {

// Under this key ONNX Runtime keeps the text in the model: "ep_compatibility_info.FatctxExecutionProvider".
[[nodiscard]] std::string compatibility_key();

// "fatctx/1 backend=ort-cpu runtime=1.31": version of the text, what executes, and the runtime that it was compiled
// with. Words may be added; those that are there keep their meaning.
[[nodiscard]] std::string compatibility_text();

struct Compatibility {
  OrtCompiledModelCompatibility level = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
  std::string why;  // a sentence, unless it is optimal
};
// Compiled with the same minor version: optimal; with an older one: better compiled again; with a newer one, for
// another backend, or in a way that this version does not know: unsupported. A text that is not ours does not apply.
[[nodiscard]] Compatibility judge_compatibility(std::string_view text);

}  // namespace fatctx::ort
