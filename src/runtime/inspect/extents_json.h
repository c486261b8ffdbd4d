// Writes the places of everything in a file as the JSON that info_json() contains.
#pragma once

#include "base/json.h"
#include "fatctx/container.h"

namespace fatctx {

[[nodiscard]] Result<Json> extents_json(const Container& container);

}  // namespace fatctx
