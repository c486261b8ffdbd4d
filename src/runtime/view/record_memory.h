// What prefetch, release and lock ask first.
#pragma once

#include "fatctx/container.h"

namespace fatctx {

// Can the record be handed out as a view at all? Errors: not_found, unsupported; as acquire.
[[nodiscard]] Status check_has_view(const Container& container, std::uint32_t record_id);

}  // namespace fatctx
