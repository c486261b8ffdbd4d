// Asks the system whether somebody looks at a terminal: C++ has no words for it.
#include <io.h>

#include "tools/progress.h"

namespace fatctx::tools {
namespace {

constexpr int kStdout = 1;
constexpr int kStderr = 2;

}  // namespace

bool stderr_is_terminal() noexcept { return ::_isatty(kStderr) != 0; }
bool stdout_is_terminal() noexcept { return ::_isatty(kStdout) != 0; }

}  // namespace fatctx::tools
