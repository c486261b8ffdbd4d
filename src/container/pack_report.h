// What a plan came to, for the reports of packing and appending.
#pragma once

#include <cstdint>
#include <vector>

#include "container/plan.h"
#include "fatctx/packer.h"

namespace fatctx::container {

// In the order of the plan.
[[nodiscard]] std::vector<PackedRecordReport> record_reports(const Plan& plan);
// How many records store nothing, because another has their bytes.
[[nodiscard]] std::uint32_t stored_elsewhere(const Plan& plan);

}  // namespace fatctx::container
