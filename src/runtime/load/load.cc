#include "fatctx/load.h"

#include "runtime/load/load_run.h"

namespace fatctx {

Result<Session> load(const Source& source, const LoadOptions& options) {
  FATCTX_ASSIGN(const HeldSource held, HeldSource::hold(source));
  return run_load(held, options, nullptr);
}

}  // namespace fatctx
