// Opening a file of any kind, on whatever thread does it.
#pragma once

#include "fatctx/model.h"

namespace fatctx {

// Does what Model::open does, without regard to ModelOptions::signal. Errors: those of Model::open.
[[nodiscard]] Result<Model> open_model(const Source& source, const ModelOptions& options);

// Returns the options for a call on another thread: asks the consumer here, because the caller's function belongs to
// the caller's thread and must not run when the caller has left.
[[nodiscard]] ModelOptions for_thread(const ModelOptions& options);

}  // namespace fatctx
