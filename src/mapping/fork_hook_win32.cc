#include "mapping/fork_hook.h"

namespace fatctx::mapping {

// Windows has no fork.
bool install_fork_hooks(const ForkHooks& /*hooks*/) noexcept { return true; }

}  // namespace fatctx::mapping
