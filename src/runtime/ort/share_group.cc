#include "runtime/ort/share_group.h"

#include "base/immortal.h"

namespace fatctx::ort {
namespace {

struct State {
  std::mutex mutex;
  std::string container;
};
constinit Immortal<State> g_state;

}  // namespace

ShareGroup::ShareGroup() : lock_(g_state.get().mutex) {}

const std::string& ShareGroup::container() const { return g_state.get().container; }

void ShareGroup::written(const std::string& container, bool last) {
  g_state.get().container = last ? std::string() : container;
}

}  // namespace fatctx::ort
