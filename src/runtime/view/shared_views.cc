#include "runtime/view/shared_views.h"

#include <limits>

#include "base/immortal.h"
#include "mapping/fork_hook.h"

namespace fatctx {
namespace {

constinit Immortal<LiveTable<SharedViewKey, SharedView>> views_of_the_process;

// Installed when the library is loaded, like the hooks of the registry.
[[maybe_unused]] const bool fork_hooks_installed = mapping::install_fork_hooks_of<&shared_views>();

}  // namespace

LiveTable<SharedViewKey, SharedView>& shared_views() { return views_of_the_process.get(); }

std::vector<std::shared_ptr<const SharedView>> live_views_of(const MappedContainer& container) {
  constexpr SharedViewKey kLast{.record_id = std::numeric_limits<std::uint32_t>::max(), .path = AccessPath::kComposed};
  SharedViewKey first{.container = &container};
  SharedViewKey last = kLast;
  last.container = &container;
  return shared_views().live_between(first, last);
}

}  // namespace fatctx
