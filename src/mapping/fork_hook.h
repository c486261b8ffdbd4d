// Actions around fork, registered with the system once.
#pragma once

namespace fatctx::mapping {

struct ForkHooks {
  void (*before)() = nullptr;     // in the parent, before the fork
  void (*in_parent)() = nullptr;  // in the parent, after it
  void (*in_child)() = nullptr;   // in the child
};

// The hooks stay for the life of the process. Returns false if the system refused.
[[nodiscard]] bool install_fork_hooks(const ForkHooks& hooks) noexcept;

// For the one object of the process that the function `object` gives: it has before_fork(), and after_fork_in_parent()
// and after_fork_in_child(), or one after_fork() for both.
//
// Called when the library is loaded, by the initialisation of a constant, because a fork may come at any time after the
// first use. If the system refuses, a child that is forked while another thread holds the object's lock could wait for
// ever; the parent works all the same.
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
