// Checks context binaries for Hexagon in `pack` and `append`: rules of the backend that a container would
// otherwise carry to the device unnoticed.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"

namespace fatctx::tools {

// Returns true for a context binary for Hexagon.
[[nodiscard]] bool for_hexagon(const PackRecord& record) noexcept;

// Checks that all dimensions are fixed. The backend compiles fixed shapes only, so any other graph was
// described from the wrong model. Errors: invalid_argument, naming graph and tensor.
[[nodiscard]] Status check_fixed_shapes(const PackRecord& record);

// Returns notes on how the binaries for Hexagon were quantised. They name the binaries without such facts,
// and a common architecture above the lowest one of its group. `of_all` are the options of the container as a
// whole.
[[nodiscard]] std::vector<std::string> quant_notes(const std::vector<PackRecord>& records,
                                                   const std::vector<DescribedOption>& of_all);

}  // namespace fatctx::tools
