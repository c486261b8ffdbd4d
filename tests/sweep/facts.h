// The content of a container as text: two containers with the same text have the same content for every reader.
#pragma once

#include <string>

#include "fatctx/base/result.h"
#include "fatctx/container.h"

namespace fatctx::sweep {

// Returns the properties of file and records that an open reads. Lost redundancy is left out, as it is not content.
[[nodiscard]] std::string facts_of(const Container& container);

// Returns the description, or the tensors of a weight blob. Errors: those of Container::describe and
// Container::tensors.
[[nodiscard]] Result<std::string> description_of(const Container& container);
[[nodiscard]] Result<std::string> tensors_of(const Container& container, std::uint32_t weights_id);

// Returns true if a damaged file may give this error: it has a listed code and a message of one line.
[[nodiscard]] bool typed(const Error& error);

}  // namespace fatctx::sweep
