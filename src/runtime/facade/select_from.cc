#include "runtime/facade/select_from.h"

#include "runtime/facade/trace_lines.h"
#include "runtime/observe/observe.h"

namespace fatctx {

Result<Selection> select_from(const Container& container, std::span<const Candidate> candidates, const Device& device,
                              const SelectPolicy& policy) {
  auto selected = observe::observed(
      ProfileEventKind::kSelect, container.path(), nullptr, [&] { return select(candidates, device, policy); },
      [](const Selection&) { return std::uint64_t{0}; });
  if (observe::tracing()) trace::record_select(container, candidates, device, policy, selected);
  return selected;
}

}  // namespace fatctx
