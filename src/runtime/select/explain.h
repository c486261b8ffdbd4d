// The explanation of a selection as a JSON document, for documents that contain it.
#pragma once

#include <span>

#include "base/json.h"
#include "fatctx/select.h"

namespace fatctx {

// Returns the document of explain_json(), schema "fatctx.selection/1".
[[nodiscard]] Json explain_document(const Selection& selection, std::span<const Candidate> candidates,
                                    const Device& device, const SelectPolicy& policy);

}  // namespace fatctx
