#include "container/update/unknown_bytes.h"

#include <fmt/format.h>

#include "container/check/absent_leaves.h"
#include "container/update/container_file.h"

namespace fatctx::container {
namespace {

// Limits the memory. Updates of real files leave a few thousand.
constexpr std::size_t kMostPlaces = std::size_t{1} << 18;

}  // namespace

Result<ByteSet> absent_bytes_of(const mapping::OsFile& file, const Toc& toc, const std::function<Status()>& go_on) {
  FATCTX_ASSIGN(const AbsentLeaves found,
                AbsentLeaves::find(file, toc, LookFor::kZeros, [&](std::uint64_t) { return go_on(); }));
  ByteSet absent;
  for (const ByteRange& range : found.ranges()) absent.add(range);
  for (const StoredLeafHashes& hashes : stored_leaf_hashes(toc)) absent.remove(hashes.in_file);
  return absent;
}

Status UnknownBytes::note(const DecodedStep& decoded) {
  const UpdateStep& step = decoded.step;
  if (!decoded.reads_source()) return Done{};
  const ByteSet& unknown = step.source == 0 ? unknown_ : absent_[step.source - 1];
  for (const ByteRange& range : unknown.within({step.offset, step.size})) {
    unknown_.add({range.offset - step.offset + step.target, range.size});
  }
  if (unknown_.range_count() <= kMostPlaces) return Done{};
  return Error{ErrorCode::kLimitExceeded,
               fmt::format("{}: bytes are missing in more than {} places of what it makes", path_, kMostPlaces)};
}

}  // namespace fatctx::container
