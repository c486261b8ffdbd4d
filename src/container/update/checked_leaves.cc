#include "container/update/checked_leaves.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "container/check/leaf_parts.h"
#include "container/check/segment_check.h"

namespace fatctx::container {
namespace {

std::uint64_t payload_bytes(const Toc& toc) {
  std::uint64_t bytes = 0;
  for (const Segment& segment : toc.segments) bytes += segment.holds_payload() ? segment.size : 0;
  return bytes;
}

}  // namespace

Error of_record(Error error, const ContainerFile& container, std::uint32_t segment, std::uint64_t leaf) {
  const Toc& toc = container.opened.toc;
  for (const RecordInfo& record : toc.records) {
    for (const SegmentLeaves& under : leaves_under(toc, record)) {
      if (under.segment != segment || leaf < under.range.first || leaf >= under.range.end) continue;
      error.where.record_id = record.id;
      error.message = fmt::format("{}: record \"{}\": {}{}", container.path, record.name, error.message,
                                  error.code == ErrorCode::kNotPresent
                                      ? remedy_for_absent(record)
                                      : std::string("; `fatctx repair --from SOURCE` restores it"));
      return error;
    }
  }
  return in_context(std::move(error), container.path);
}

Status check_payload(const ContainerFile& container, Absent absent, unsigned threads, WorkProgress& progress) {
  const Toc& toc = container.opened.toc;
  std::vector<SegmentWork> xxh3;
  std::vector<SegmentWork> both;
  for (std::uint32_t i = 0; i < toc.segments.size(); ++i) {
    const Segment& segment = toc.segments[i];
    if (!segment.holds_payload()) continue;
    const bool signed_too = absent == Absent::kRefused && leaf_hashes_named(toc, i).size() > 1;
    (signed_too ? both : xxh3).push_back({i, {0, segment.leaf_count()}});
  }
  progress.begin(payload_bytes(toc));
  for (const auto* work : {&xxh3, &both}) {
    const LeafHash which = work == &both ? LeafHash::kBoth : LeafHash::kXxh3;
    auto checked = check_segments(*container.file, toc, *work, which, threads, progress);
    if (!checked.ok()) return in_context(std::move(checked).error(), container.path);
    const std::vector<SegmentOutcome>& outcomes = checked.value();
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const SegmentOutcome& outcome = outcomes[i];
      const std::uint32_t segment = (*work)[i].segment;
      const bool hashes_absent = outcome.leaves_damaged && outcome.leaves_damaged->code == ErrorCode::kNotPresent;
      if (outcome.leaves_damaged && !(absent == Absent::kAllowed && hashes_absent)) {
        return of_record(*outcome.leaves_damaged, container, segment, 0);
      }
      const bool refused = absent == Absent::kRefused && !outcome.absent.empty();
      if (outcome.damaged.empty() && !refused) continue;
      const LeafRange range = outcome.damaged.empty() ? outcome.absent.front() : outcome.damaged.front();
      const Segment& in = toc.segments[segment];
      const std::uint64_t first = range.first << kLeafLog2;
      const std::uint64_t end = std::min(range.end << kLeafLog2, in.size);
      return of_record(leaf_error({in.offset + first, end - first}, outcome.damaged.empty()), container, segment,
                       range.first);
    }
  }
  return Done{};
}

Status check_leaves_under(const ContainerFile& container, std::span<const ByteRange> ranges) {
  const Toc& toc = container.opened.toc;
  std::vector<SegmentLeaves> wanted;
  std::vector<std::uint32_t> by_offset;  // segments with payload
  for (std::uint32_t i = 0; i < toc.segments.size(); ++i) {
    if (toc.segments[i].holds_payload()) by_offset.push_back(i);
  }
  std::sort(by_offset.begin(), by_offset.end(),
            [&](std::uint32_t a, std::uint32_t b) { return toc.segments[a].offset < toc.segments[b].offset; });
  for (const ByteRange& range : ranges) {
    auto next =
        std::upper_bound(by_offset.begin(), by_offset.end(), range.offset, [&](std::uint64_t at, std::uint32_t index) {
          return at < toc.segments[index].offset + toc.segments[index].size;
        });
    for (; next != by_offset.end() && toc.segments[*next].offset < range.offset + range.size; ++next) {
      const Segment& segment = toc.segments[*next];
      const ByteRange part = overlap({segment.offset, segment.size}, range);
      wanted.push_back({*next, leaves_touched({part.offset - segment.offset, part.size})});
    }
  }
  sort_and_join(wanted);
  for (const SegmentLeaves& one : wanted) {
    const Segment& segment = toc.segments[one.segment];
    for (std::uint64_t leaf = one.range.first; leaf < one.range.end;) {
      const std::uint64_t page_end = std::min(one.range.end, (leaf / kLeavesPerPage + 1) * kLeavesPerPage);
      const LeafRange page{leaf, page_end};
      auto leaves = read_leaves(*container.file, toc, segment, LeafHash::kXxh3, page);
      if (!leaves.ok()) return of_record(std::move(leaves).error(), container, one.segment, leaf);
      std::uint64_t bad = leaf;
      auto compared = compare_leaves(
          *container.file, segment, leaves.value(), page, [&](std::uint64_t good, ByteView) { bad = good + 1; },
          [](std::uint64_t) -> Status { return Done{}; });
      if (!compared.ok()) return of_record(std::move(compared).error(), container, one.segment, bad);
      leaf = page_end;
    }
  }
  return Done{};
}

}  // namespace fatctx::container
