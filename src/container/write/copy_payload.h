// Payload from inputs to its place in the file, with its hashes.
#pragma once

#include <cstdint>
#include <functional>

#include "container/write/plan.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Writes every segment of the plan and fills in the hashes of records and leaves. A segment is written front to back in
// calls of 4 MiB, less for its end only: the system then caches the file in large pages, which makes the first touch of
// a mapping many times cheaper.
// Errors: those of reading the inputs and of writing, changed (an input is not what was planned).
[[nodiscard]] Status copy_payload(Plan& plan, mapping::OsFile& file,
                                  const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {});

}  // namespace fatctx::container
