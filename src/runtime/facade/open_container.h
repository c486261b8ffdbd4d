// Opens a container through any registry; Container::open uses the registry of the process.
#pragma once

#include "fatctx/container.h"
#include "runtime/open/registry.h"

namespace fatctx {

// Opens `source` through `registry`, which must outlive the call and every reopen(), but not the container.
// Errors: those of Container::open.
[[nodiscard]] Result<Container> open_container(Registry& registry, const Source& source,
                                               const OpenOptions& options = {});

}  // namespace fatctx
