// The error of a selection that chose nothing.
#pragma once

#include <span>
#include <string>

#include "fatctx/select.h"

namespace fatctx {

// Returns no_match, with the reason for every record. `candidates` are the judged ones, in their order.
[[nodiscard]] Error nothing_fits(const std::string& path, const Selection& selection,
                                 std::span<const Candidate> candidates, const Device& device,
                                 const SelectPolicy& policy);

}  // namespace fatctx
