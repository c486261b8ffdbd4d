// The memory of records: the check before it is used, and giving that of several records back.
#pragma once

#include <cstdint>
#include <span>

#include "fatctx/container.h"

namespace fatctx {

// Checks that the record can be handed out as a view. Errors: not_found, unsupported; as acquire.
[[nodiscard]] Status check_has_view(const Container& container, std::uint32_t record_id);

// Does what Container::release does, for several records with one report. Errors: those of Container::release.
[[nodiscard]] Result<ReleaseReport> release_records(const Container& container,
                                                    std::span<const std::uint32_t> record_ids,
                                                    const ReleaseOptions& options);

}  // namespace fatctx
