// Opens a container for a command that goes through all of its records.
#pragma once

#include <span>
#include <vector>

#include "fatctx/container.h"

namespace fatctx::tools {

// Opens a container and reads its whole table of contents, so that its errors are errors of this function, and
// the functions below have none. Errors: those of Container::open and of the whole table.
[[nodiscard]] Result<Container> open_whole(const Source& source, const OpenOptions& options = {});

// The same as the members of Container with these names. Requires: open_whole() opened it.
[[nodiscard]] std::span<const RecordInfo> all_records(const Container& container);
[[nodiscard]] std::vector<Candidate> all_candidates(const Container& container);
[[nodiscard]] OpenReport open_report(const Container& container);

}  // namespace fatctx::tools
