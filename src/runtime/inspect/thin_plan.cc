#include "runtime/inspect/thin_plan.h"

#include <algorithm>

namespace fatctx {
namespace {

std::vector<ThinRun> whole_pages(const std::vector<ThinRun>& runs, std::uint64_t page, std::uint64_t base) {
  std::vector<ThinRun> whole;
  for (const ThinRun& run : runs) {
    const std::uint64_t head = (page - run.target % page) % page;
    if (run.size < head || (base + run.file_offset + head) % page != 0) continue;
    const std::uint64_t size = (run.size - head) / page * page;
    if (size != 0) whole.push_back({run.target + head, run.file_offset + head, size});
  }
  return whole;
}

// Returns the bytes of the pages in [from, to) that contain a fresh part. `part` is the first candidate; the call
// advances it.
std::uint64_t fresh_bytes(const std::vector<ThinPart>& parts, std::size_t& part, std::uint64_t from, std::uint64_t to,
                          std::uint64_t page) {
  std::uint64_t bytes = 0;
  std::uint64_t counted = from;  // pages before this are counted
  while (part < parts.size() && parts[part].target < to) {
    const ThinPart& at = parts[part];
    const std::uint64_t end = std::min(at.target + at.size, to);
    if (at.fresh && end > counted) {
      const std::uint64_t first = std::max(counted, at.target / page * page);
      const std::uint64_t last = std::min(to, (end + page - 1) / page * page);
      if (last > first) {
        bytes += last - first;
        counted = last;
      }
    }
    if (at.target + at.size > to) break;
    ++part;
  }
  return bytes;
}

}  // namespace

ThinPlan plan_thin(const std::vector<ThinPart>& parts, const std::vector<ThinRun>& runs, std::uint64_t page,
                   std::optional<std::uint64_t> base, std::uint64_t most_pieces) {
  std::vector<ThinRun> mapped;
  if (base) mapped = whole_pages(runs, page, *base);
  for (std::uint64_t least = 2 * page; mapped.size() > most_pieces / 2; least *= 2) {
    std::erase_if(mapped, [&](const ThinRun& run) { return run.size < least; });
  }
  const std::uint64_t size = parts.empty() ? 0 : parts.back().target + parts.back().size;
  ThinPlan plan;
  std::uint64_t at = 0;
  std::uint64_t built = 0;  // bytes of memory so far, in whole pages
  std::size_t part = 0;
  const auto build = [&](std::uint64_t end) {
    if (at == end) return;
    plan.pieces.push_back({true, built, end - at});
    const std::uint64_t fresh = fresh_bytes(parts, part, at, end, page);
    plan.new_bytes += fresh;
    plan.copied_bytes += end - at - fresh;
    built += (end - at + page - 1) / page * page;
    at = end;
  };
  for (const ThinRun& run : mapped) {
    build(run.target);
    plan.pieces.push_back({false, run.file_offset, run.size});
    at = run.target + run.size;
  }
  build(size);
  return plan;
}

}  // namespace fatctx
