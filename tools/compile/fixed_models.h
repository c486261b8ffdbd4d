// The models that are compiled: the one on the command line, or one for each set of shapes.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/compile/compile_cache.h"
#include "tools/compile/compile_driver.h"
#include "tools/compile/shape_sets.h"
#include "tools/pack/gather.h"

namespace fatctx::tools {

// Returns `input` itself if there are no sets. Otherwise writes a model for each set into the cache, adds it to
// `models`, and returns an input for each. Lifetime: results borrow from `models`. Requires: input.onnx is not null if
// there are sets.
// Errors: invalid_argument (as shape_sets()), io, those of read_onnx.
[[nodiscard]] Result<std::vector<CompileInput>> inputs_of(const CompileInput& input,
                                                          const std::vector<InputShapes>& wanted,
                                                          const CompileCache& cache, OnnxModels& models);

}  // namespace fatctx::tools
