// The shapes of `fatctx compile --shape`: each flag is one set of shapes of inputs, and each set is compiled by itself.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/onnx/onnx_shapes.h"

namespace fatctx::tools {

struct ShapeSet {
  InputShapes shapes;
  std::string unit;  // the unit of its records; empty if there is only one set
};

// Parses one flag: NAME=SIZE,SIZE for each input, with blanks between them. Errors: invalid_argument.
[[nodiscard]] Result<InputShapes> parse_shapes(const std::string& text);

// Compares the sets with the model and names their units after the shapes: "1x3x320x320". Shapes of several inputs are
// joined by "_"; equal ones are written once, if that keeps the names apart.
// Errors: invalid_argument (an unknown input, another number of sizes, a size that the model fixes, a set twice).
[[nodiscard]] Result<std::vector<ShapeSet>> shape_sets(const std::vector<InputShapes>& wanted,
                                                       const DescribedGraph& graph);

// Returns "x=1,3,320,320", as it is written on the command line.
[[nodiscard]] std::string shapes_text(const InputShapes& shapes);

// Returns a flag that would fix all open sizes, with a letter for each: "--shape x=1,3,H,W". Empty if none is open.
[[nodiscard]] std::string shape_flag_for(const DescribedGraph& graph);

}  // namespace fatctx::tools
