// Infers the shapes of ONNX models in a process of its own.
#pragma once

#include <cstdint>
#include <string>

#include "fatctx/base/result.h"
#include "tools/onnx/onnx_look.h"

namespace fatctx::tools {

struct InferredShapes {
  OnnxShapes shapes;   // empty: none
  std::string remark;  // how they were found, or why there are none
};

// Infers the shapes of the model in the file `path`; if `record` is not empty, of that record of a container, in that
// generation (0: the newest). Runs this program again, because the library of ONNX does not survive every damaged
// model. Never fails: without an answer of that process, only the shapes that the model states are known, and the
// remark has the reason.
[[nodiscard]] InferredShapes inferred_shapes(const std::string& path, const std::string& record,
                                             std::uint64_t generation);

}  // namespace fatctx::tools
