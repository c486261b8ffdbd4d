// Registers actions around fork with the system, once.
#pragma once

namespace fatctx::mapping {

struct ForkHooks {
  void (*before)() = nullptr;     // in the parent, before the fork
  void (*in_parent)() = nullptr;  // in the parent, after it
  void (*in_child)() = nullptr;   // in the child
};

// Registers the hooks, for the life of the process. Returns false if the system refuses.
[[nodiscard]] bool install_fork_hooks(const ForkHooks& hooks) noexcept;

// Registers hooks for the one object of the process that the function `object` returns. It has before_fork(), and
// either after_fork_in_parent() and after_fork_in_child(), or one after_fork() for both.
//
// Must run when the library is loaded, in the initialiser of a constant: a fork may come at any time after the first
// use. If the system refuses, a child that is forked while another thread holds the object's lock could wait for ever;
// the parent still works.
template <auto object>
[[nodiscard]] bool install_fork_hooks_of() noexcept {
  constexpr bool kOneForBoth = requires { object().after_fork(); };
  if constexpr (kOneForBoth) {
    return install_fork_hooks(
        {[] { object().before_fork(); }, [] { object().after_fork(); }, [] { object().after_fork(); }});
  } else {
    return install_fork_hooks({[] { object().before_fork(); }, [] { object().after_fork_in_parent(); },
                               [] { object().after_fork_in_child(); }});
  }
}

}  // namespace fatctx::mapping
