#include "runtime/ort/ep/share_group.h"

#include <utility>

#include "base/immortal.h"

namespace fatctx::ort {
namespace {

struct State {
  std::mutex mutex;
  std::string container;
  Hash128 toc_hash = {};  // of the generation whose weights the pool has
  std::optional<WeightPool> pool;

  void end() {
    container.clear();
    pool.reset();
  }
};
constinit Immortal<State> g_state;

}  // namespace

ShareGroup::ShareGroup(bool last) : lock_(g_state.get().mutex), last_(last) {}

ShareGroup::~ShareGroup() {
  if (last_) g_state.get().end();
}

const std::string& ShareGroup::container() const { return g_state.get().container; }

void ShareGroup::written(const Container& container, std::optional<WeightPool> pool) {
  State& state = g_state.get();
  state.container = container.path();
  state.toc_hash = container.identity().toc_hash;
  state.pool = std::move(pool);
}

std::optional<WeightPool> ShareGroup::take_pool(const Container& container) {
  State& state = g_state.get();
  std::optional<WeightPool> pool = std::exchange(state.pool, std::nullopt);
  if (state.toc_hash != container.identity().toc_hash) pool.reset();
  return pool;
}

void ShareGroup::forget(const std::string& container) {
  State& state = g_state.get();
  if (state.container == container) state.end();
}

}  // namespace fatctx::ort
