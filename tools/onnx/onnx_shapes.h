// Writes an ONNX model again with sizes that its file leaves open, for compilers that need them fixed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

// The whole shape of one input, every size fixed.
struct InputShape {
  std::string name;
  std::vector<std::int64_t> sizes;
  friend bool operator==(const InputShape&, const InputShape&) = default;
};
using InputShapes = std::vector<InputShape>;

// Checks that the model has these inputs, and that no size differs from one that the model has fixed.
// Errors: invalid_argument, with what the model has.
[[nodiscard]] Status check_input_shapes(const DescribedGraph& graph, const InputShapes& shapes);

// Writes the model at `model_path` to `output` with these shapes of inputs. A size that the model calls by a name, such
// as "batch", gets the same value in all inputs and outputs, unless two shapes contradict each other. Shapes of inner
// tensors are dropped, because they hold for the open sizes; readers infer them. Those of operators that ONNX does not
// define stay. External data is not touched, so that the output needs the files in the same places.
// Requires: check_input_shapes() accepts them. Errors: those of read_onnx; io.
[[nodiscard]] Status write_onnx_with_shapes(const std::string& model_path, const InputShapes& shapes,
                                            const std::string& output);

// Writes the model at `model_path` to `output` with its Constant nodes of `min_elements` or more as initializers, so
// that each keeps the name by which the graph calls it. Errors: those of read_onnx; io.
[[nodiscard]] Status write_onnx_with_named_constants(const std::string& model_path, std::int64_t min_elements,
                                                     const std::string& output);

}  // namespace fatctx::tools
