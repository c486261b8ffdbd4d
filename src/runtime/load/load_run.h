// One load with somebody who waits for it, and may leave.
#pragma once

#include <memory>

#include "fatctx/load.h"
#include "runtime/load/stop_source.h"
#include "runtime/open/load_input.h"

namespace fatctx {

class LoadRun {
 public:
  // `stop` is another wish to stop beside that of the options; null: there is none. Tells `notify` how it ended.
  // Errors: those of load_context().
  [[nodiscard]] static Result<LoadedContext> run(const LoadInput& input, const LoadOptions& options, StopSource* stop);

 private:
  [[nodiscard]] static Result<LoadedContext> guarded(const LoadInput& input, const LoadOptions& options,
                                                     StopSource* stop);
  [[nodiscard]] static Result<LoadedContext> aside(const LoadInput& input, const LoadOptions& options,
                                                   LoadSignal::State* signal, StopSource* stop);
};

}  // namespace fatctx
