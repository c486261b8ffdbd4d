// A view of any record, provided in the way that its form and the options of the handle allow.
#pragma once

#include <cstdint>

#include "fatctx/container.h"

namespace fatctx {

// Does what Container::acquire does, but does not report to profile or trace. Errors: those of Container::acquire.
[[nodiscard]] Result<RecordView> view_of(const Container& container, std::uint32_t record_id);

}  // namespace fatctx
