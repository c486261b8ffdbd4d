// One load, from the source to the session.
#pragma once

#include "fatctx/load.h"
#include "runtime/facade/held_source.h"
#include "runtime/open/stop_source.h"

namespace fatctx {

// Loads, and tells `notify` how it ended. `stop` is another wish to stop beside that of the signal; null: there is
// none. Errors: those of load().
[[nodiscard]] Result<Session> run_load(const HeldSource& source, const LoadOptions& options, StopSource* stop);

}  // namespace fatctx
