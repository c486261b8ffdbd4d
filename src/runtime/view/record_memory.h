// Memory of records: the check before a record is used, and the release of several records together.
#pragma once

#include <cstdint>
#include <span>

#include "fatctx/container.h"

namespace fatctx {

// Checks that the record has a view. Errors: not_found, unsupported; as acquire.
[[nodiscard]] Status check_has_view(const Container& container, std::uint32_t record_id);

// Releases several records with one report. Errors: those of Container::release.
[[nodiscard]] Result<ReleaseReport> release_records(const Container& container,
                                                    std::span<const std::uint32_t> record_ids,
                                                    const ReleaseOptions& options);

}  // namespace fatctx
