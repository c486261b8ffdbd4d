#include "runtime/ort/ep/shared_place.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/immortal.h"

namespace fatctx::ort {
namespace {

struct Place {
  std::mutex mutex;
  struct Entry {
    std::string name;
    std::weak_ptr<const Container> container;
  };
  std::vector<Entry> entries;

  // Requires: the lock is held.
  void forget_dead() {
    std::erase_if(entries, [](const Entry& entry) { return entry.container.expired(); });
  }
};

constinit Immortal<Place> g_place;

bool same_state(const Container& a, const Container& b) { return a.identity() == b.identity(); }

}  // namespace

Result<bool> has_graph(const Container& container, const ContextNode& node) {
  FATCTX_ASSIGN(const auto records, container.records());
  const std::string& unit = node.partition.empty() ? node.name : node.partition;
  return std::any_of(records.begin(), records.end(), [&](const RecordInfo& record) {
    return record.type == RecordType::kContextBinary && record.key.backend == kBackend && record.key.unit == unit &&
           (node.group.empty() || record.key.group == node.group);
  });
}

SharedPlace share_container(const ContextNode& node, const Container& container) {
  Place& place = g_place.get();
  const std::lock_guard lock(place.mutex);
  place.forget_dead();
  for (const Place::Entry& entry : place.entries) {
    SharedPlace live = entry.container.lock();
    if (live && entry.name == node.cache && same_state(*live, container)) return live;
  }
  auto shared = std::make_shared<const Container>(container);
  place.entries.push_back({.name = node.cache, .container = shared});
  return shared;
}

SharedPlace find_shared(const ContextNode& node) {
  Place& place = g_place.get();
  const std::lock_guard lock(place.mutex);
  SharedPlace found;
  for (const Place::Entry& entry : place.entries) {
    const SharedPlace live = entry.container.lock();
    if (!live) continue;
    const auto has = has_graph(*live, node);
    if (!has.ok() || !has.value()) continue;  // the open of that container reports its errors
    if (!node.cache.empty() && entry.name != node.cache) continue;
    // An ambiguous match counts as no match.
    if (found && !same_state(*found, *live)) return nullptr;
    found = live;
  }
  return found;
}

}  // namespace fatctx::ort
