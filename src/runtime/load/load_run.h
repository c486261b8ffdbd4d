// One load, from the source to the session.
#pragma once

#include "fatctx/load.h"
#include "runtime/facade/held_source.h"
#include "runtime/open/stop_source.h"

namespace fatctx {

// Loads, and reports to `notify` how the load ended. `stop` is a second source of stop requests beside the signal; null
// if there is none. Errors: those of load().
[[nodiscard]] Result<Session> run_load(const HeldSource& source, const LoadOptions& options, StopSource* stop);

}  // namespace fatctx
