// Computes the spill-fill buffer of an EPContext node. Sessions of one group share it, so each must request
// the size of the largest. The order in which they start then does not matter.
#pragma once

#include <cstdint>
#include <span>

#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/description.h"

namespace fatctx::tools {

// Returns the size that a record states: the largest of its graphs and of the provider's notes; 0: none.
// Errors: malformed (more than an EPContext node can ask for).
[[nodiscard]] Result<std::int64_t> spill_fill_of(const RecordDescription& said);

// Returns the largest size of the binaries that a device with `record` may load beside it. These are the
// binaries of its group and backend whose targets do not contradict its own, in any unit. Errors: those of
// spill_fill_of, naming the record.
[[nodiscard]] Result<std::int64_t> spill_fill_of_group(std::span<const RecordInfo> records,
                                                       const ContainerDescription& description,
                                                       const RecordInfo& record);

}  // namespace fatctx::tools
