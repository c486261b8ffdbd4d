// The spill-fill buffer that an EPContext node asks for: sessions of one group share it, so each has to ask for what
// the largest of them needs. Which starts first is then all the same.
#pragma once

#include <cstdint>
#include <span>

#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/description.h"

namespace fatctx::tools {

// What a record says of itself: the largest of its graphs, and of what the provider noted; 0: nothing.
// Errors: malformed (more than an EPContext node can ask for).
[[nodiscard]] Result<std::int64_t> spill_fill_of(const RecordDescription& said);

// The largest of the binaries that a device with `record` may load beside it: those of its group and backend whose
// targets do not contradict its own, whatever their unit. Errors: those of spill_fill_of, naming the record.
[[nodiscard]] Result<std::int64_t> spill_fill_of_group(std::span<const RecordInfo> records,
                                                       const ContainerDescription& description,
                                                       const RecordInfo& record);

}  // namespace fatctx::tools
