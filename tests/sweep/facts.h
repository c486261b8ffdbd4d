// What a container says, as text: two containers with the same text have the same content for every reader.
#pragma once

#include <string>

#include "fatctx/base/result.h"
#include "fatctx/container.h"

namespace fatctx::sweep {

// File and records: what an open alone answers. Without the lost redundancy, which is not content.
[[nodiscard]] std::string facts_of(const Container& container);

// The description, and the tensors of a weight blob. Errors: those of Container::describe and Container::tensors.
[[nodiscard]] Result<std::string> description_of(const Container& container);
[[nodiscard]] Result<std::string> tensors_of(const Container& container, std::uint32_t weights_id);

// True if the error is one that a damaged file may give: a listed code, a message, one line.
[[nodiscard]] bool typed(const Error& error);

}  // namespace fatctx::sweep
