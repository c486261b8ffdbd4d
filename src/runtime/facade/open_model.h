// Opens a file of any kind, on any thread.
#pragma once

#include "fatctx/model.h"

namespace fatctx {

// Does what Model::open does, but ignores ModelOptions::signal. Errors: those of Model::open.
[[nodiscard]] Result<Model> open_model(const Source& source, const ModelOptions& options);

// Returns the options for a call on another thread. Calls the consumer function here: it belongs to the caller's
// thread, and must not run after the caller has left.
[[nodiscard]] ModelOptions for_thread(const ModelOptions& options);

}  // namespace fatctx
