// What has to happen around fork, told to the system once.
#pragma once

namespace fatctx::mapping {

struct ForkHooks {
  void (*before)() = nullptr;     // in the parent, before the fork
  void (*in_parent)() = nullptr;  // in the parent, after it
  void (*in_child)() = nullptr;   // in the child
};

// The hooks stay for the life of the process. Returns false if the system refused.
[[nodiscard]] bool install_fork_hooks(const ForkHooks& hooks) noexcept;

}  // namespace fatctx::mapping
