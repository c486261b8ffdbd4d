// Asks the system whether somebody looks at a terminal: C++ has no words for it.
#include <unistd.h>

#include "tools/progress.h"

namespace fatctx::tools {

bool stderr_is_terminal() noexcept { return ::isatty(STDERR_FILENO) == 1; }
bool stdout_is_terminal() noexcept { return ::isatty(STDOUT_FILENO) == 1; }

}  // namespace fatctx::tools
