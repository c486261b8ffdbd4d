// A choice among the records of a container, as profile and trace see it.
#pragma once

#include <span>

#include "fatctx/container.h"
#include "fatctx/select.h"

namespace fatctx {

// Calls select() over `candidates` of `container`. Errors: those of select().
[[nodiscard]] Result<Selection> select_from(const Container& container, std::span<const Candidate> candidates,
                                            const Device& device, const SelectPolicy& policy);

}  // namespace fatctx
