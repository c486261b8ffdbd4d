// Writes the places of everything in a file as the JSON that info_json() contains.
#pragma once

#include <vector>

#include "base/json.h"
#include "fatctx/container.h"

namespace fatctx {

// `absent`: as PresenceReport::absent.
[[nodiscard]] Result<Json> extents_json(const Container& container, const std::vector<ByteRange>& absent);

}  // namespace fatctx
