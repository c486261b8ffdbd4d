// What `pack` and `append` hold context binaries for Hexagon against: rules of the backend that a container would
// otherwise carry to the device unnoticed.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"

namespace fatctx::tools {

// The backend compiles fixed shapes only: a graph that is described with a dimension that is not fixed was described
// from the wrong model. Errors: invalid_argument, naming graph and tensor.
[[nodiscard]] Status check_fixed_shapes(const PackRecord& record);

// What is worth knowing about how the binaries for Hexagon were quantised: those of which nothing is said, and a common
// architecture that is above the lowest one of its group. `of_all` are the options of the container as a whole.
[[nodiscard]] std::vector<std::string> quant_notes(const std::vector<PackRecord>& records,
                                                   const std::vector<DescribedOption>& of_all);

}  // namespace fatctx::tools
