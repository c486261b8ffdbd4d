// Asks the system whether stderr is a terminal: C++ has no words for it.
#include <unistd.h>

#include "tools/progress.h"

namespace fatctx::tools {

bool stderr_is_terminal() noexcept { return ::isatty(STDERR_FILENO) == 1; }

}  // namespace fatctx::tools
