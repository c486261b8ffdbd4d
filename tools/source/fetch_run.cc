#include "tools/source/fetch_run.h"

#include <cstdint>
#include <vector>

namespace fatctx::tools {

Status run_plan(FetchPlan& plan, ByteSource& source, FetchStage stage, const std::function<void()>& progressed) {
  std::uint32_t spoiled = 0;
  const TakeBytes take = [&](std::uint64_t offset, ByteView bytes) -> Status {
    FATCTX_TRY(plan.take(offset, bytes));
    if (progressed) progressed();
    return Done{};
  };
  while (plan.stage() < stage) {
    const std::vector<ByteRange> wanted = plan.wanted();
    if (wanted.empty()) return Error{ErrorCode::kInternal, "the plan wants nothing and is not done"};
    auto read = source.read(wanted, take);
    if (read.ok()) continue;
    // A proxy on the way may have spoiled the bytes: one more try.
    if (read.error().code != ErrorCode::kChecksumMismatch || ++spoiled > 1) return read;
  }
  return Done{};
}

}  // namespace fatctx::tools
