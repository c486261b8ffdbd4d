// Source models that are compiled when a model is chosen.
#pragma once

#include "fatctx/model.h"

namespace fatctx {

// Returns a view of the binary that the caller's hook makes of a stored source model. The view owns the binary.
// Errors: those of stream_record and of the hook; invalid_argument (the hook gave no bytes).
[[nodiscard]] Result<RecordView> compile_source(const Container& container, const RecordInfo& source,
                                                const Device& device, const PrepareHook& prepare);

}  // namespace fatctx
