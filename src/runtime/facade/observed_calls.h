// Calls of the public interface as profile and trace see them.
#pragma once

#include <span>

#include "fatctx/container.h"
#include "fatctx/select.h"

namespace fatctx {

// fatctx::select() over the candidates of `container`.
[[nodiscard]] Result<Selection> observed_select(const Container& container, std::span<const Candidate> candidates,
                                                const Device& device, const SelectPolicy& policy);

}  // namespace fatctx
