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

ShareGroup::ShareGroup(bool last) : lock_(g_state.get().mutex), last_(last) {}

ShareGroup::~ShareGroup() {
  if (last_) g_state.get().container.clear();
}

const std::string& ShareGroup::container() const { return g_state.get().container; }

void ShareGroup::written(const std::string& container) { g_state.get().container = container; }

void ShareGroup::forget(const std::string& container) {
  State& state = g_state.get();
  if (state.container == container) state.container.clear();
}

}  // namespace fatctx::ort
