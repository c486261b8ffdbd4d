#include <pthread.h>

#include "mapping/fork_hook.h"

namespace fatctx::mapping {

bool install_fork_hooks(const ForkHooks& hooks) noexcept {
  return ::pthread_atfork(hooks.before, hooks.in_parent, hooks.in_child) == 0;
}

}  // namespace fatctx::mapping
