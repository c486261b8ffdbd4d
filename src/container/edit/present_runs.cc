#include "container/edit/present_runs.h"

#include <algorithm>
#include <atomic>

#include "container/edit/present_bytes.h"
#include "container/read/leaves.h"

namespace fatctx::container {
namespace {

// Errors: cancelled.
Result<bool> intact(const mapping::OsFile& file, const Toc& toc, const Segment& segment,
                    const std::atomic<bool>* cancel, WorkProgress& progress) {
  const auto leaves = read_leaves(file, toc, segment, LeafHash::kXxh3);
  if (!leaves.ok()) return false;
  const LeafRange all{0, segment.leaf_count()};
  const auto after = [&](std::uint64_t) -> Status {
    if (cancel != nullptr && cancel->load()) return Error{ErrorCode::kCancelled, "it was cancelled"};
    return progress.go_on();
  };
  auto compared = compare_leaves(
      file, segment, leaves.value(), all, [](std::uint64_t, ByteView) {}, after);
  if (!compared.ok() && compared.error().code == ErrorCode::kCancelled) return std::move(compared).error();
  return compared.ok();
}

}  // namespace

Status find_present_runs(Plan& plan, const mapping::OsFile& file, const Toc& toc, const std::vector<bool>& left_out,
                         const PackOptions& options, WorkProgress& progress) {
  if (records_for_runs(plan).empty()) return Done{};
  const std::vector<bool> used = segments_in_use(toc, left_out);
  std::vector<PresentSegment> segments;
  for (std::size_t i = 0; i < toc.segments.size(); ++i) {
    const Segment& segment = toc.segments[i];
    if (!used[i] || segment.kind != SegmentKind::kPayload || segment.size < kLeafSize) continue;
    FATCTX_ASSIGN(const bool whole, intact(file, toc, segment, options.cancel, progress));
    if (whole) segments.push_back({i, {segment.offset, segment.size}});
  }
  const std::uint64_t taken = toc.slices.size() + plan.records.size();
  return find_runs_in_file(plan, file, segments, kMaxSlices - std::min(kMaxSlices, taken), options, progress);
}

}  // namespace fatctx::container
