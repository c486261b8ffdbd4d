// A selection among the records of a container that is reported to profile and trace.
#pragma once

#include <span>

#include "fatctx/container.h"
#include "fatctx/select.h"

namespace fatctx {

// Calls select() over `candidates` of `container`. Errors: those of select().
[[nodiscard]] Result<Selection> select_from(const Container& container, std::span<const Candidate> candidates,
                                            const Device& device, const SelectPolicy& policy);

}  // namespace fatctx
