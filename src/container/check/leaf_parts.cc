#include "container/check/leaf_parts.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "container/format/copy_out.h"
#include "container/format/leaf_range.h"
#include "container/read/stored_rows.h"

namespace fatctx::container {
namespace {

// The hashes of one segment by one algorithm.
template <typename Hash>
struct StoredHashes {
  std::uint64_t count = 0;
  std::uint64_t offset = 0;  // where the first leaf is in the file
  Hash root;

  [[nodiscard]] bool paged() const noexcept { return count > kLeavesPerPage; }
  [[nodiscard]] std::uint64_t pages() const noexcept { return (count + kLeavesPerPage - 1) / kLeavesPerPage; }
  [[nodiscard]] ByteRange of_pages() const noexcept { return {offset + count * sizeof(Hash), pages() * sizeof(Hash)}; }
  [[nodiscard]] ByteRange page(std::uint64_t index) const noexcept {
    const std::uint64_t first = index * kLeavesPerPage;
    return {offset + first * sizeof(Hash), std::min(kLeavesPerPage, count - first) * sizeof(Hash)};
  }
  // Returns the parts that the leaves `range` need.
  [[nodiscard]] std::vector<ByteRange> parts(LeafRange range) const {
    if (count < 2 || range.first >= range.end) return {};
    if (!paged()) return {{offset, count * sizeof(Hash)}};
    std::vector<ByteRange> parts = {of_pages()};
    const std::uint64_t last = (std::min(range.end, count) - 1) / kLeavesPerPage;
    for (std::uint64_t index = range.first / kLeavesPerPage; index <= last; ++index) parts.push_back(page(index));
    return parts;
  }
};

// Calls `use` with the hashes of the algorithm.
template <typename Use>
auto with_hashes(const Toc& toc, std::uint32_t index, LeafHash which, const Use& use) {
  const Segment& segment = toc.segments[index];
  const std::uint64_t count = segment.leaf_count();
  if (which == LeafHash::kXxh3) {
    return use(StoredHashes<Hash128>{count, count == 1 ? 0 : offset_of_leaves(toc, segment), segment.leaves_hash});
  }
  const SegmentDigest digest = StoredRows(toc).segment_digest(index);
  return use(StoredHashes<DiskSha256>{count, count == 1 ? 0 : offset_of_leaves(toc, digest), digest.leaves_sha256});
}

PartState state_of(ByteView bytes, bool matches) {
  if (matches) return PartState::kGood;
  return all_zero(bytes) ? PartState::kAbsent : PartState::kDamaged;
}

template <typename Hash>
Result<std::vector<LeavesPart>> judge(const mapping::OsFile& file, const StoredHashes<Hash>& stored, LeafRange range) {
  std::vector<LeavesPart> judged;
  std::vector<std::byte> bytes;
  std::vector<Hash> of_pages;  // empty unless they are good
  for (const ByteRange& part : stored.parts(range)) {
    bytes.resize(static_cast<std::size_t>(part.size));
    FATCTX_TRY(file.read_at(part.offset, bytes));
    const Hash hash = leaf_hash<Hash>(bytes);
    if (!stored.paged() || part.offset == stored.of_pages().offset) {
      judged.push_back({part, state_of(bytes, hash == stored.root)});
      if (!stored.paged() || judged.back().state != PartState::kGood) continue;
      of_pages.resize(static_cast<std::size_t>(stored.pages()));
      std::memcpy(of_pages.data(), bytes.data(), bytes.size());
      continue;
    }
    const std::uint64_t page = (part.offset - stored.offset) / (kLeavesPerPage * sizeof(Hash));
    judged.push_back({part, state_of(bytes, !of_pages.empty() && hash == of_pages[static_cast<std::size_t>(page)])});
  }
  return judged;
}

}  // namespace

std::vector<LeafHash> leaf_hashes_named(const Toc& toc, std::uint32_t segment) {
  const bool sha256 = !all_zero(StoredRows(toc).segment_digest(segment).leaves_sha256);
  return sha256 ? std::vector{LeafHash::kXxh3, LeafHash::kSha256} : std::vector{LeafHash::kXxh3};
}

std::vector<ByteRange> places_of_leaf_hashes(const Toc& toc, std::uint32_t segment, LeafHash which, LeafRange range) {
  return with_hashes(toc, segment, which, [&](const auto& stored) { return stored.parts(range); });
}

Result<std::vector<LeavesPart>> judge_leaf_hashes(const mapping::OsFile& file, const Toc& toc, std::uint32_t segment,
                                                  LeafHash which, LeafRange range) {
  return with_hashes(toc, segment, which, [&](const auto& stored) { return judge(file, stored, range); });
}

Result<std::vector<LeavesPart>> parts_of_leaves_segment(const mapping::OsFile& file, const Toc& toc,
                                                        std::uint32_t leaves_segment) {
  const bool sha256 = toc.segments[leaves_segment].hash_algorithm == kHashSha256;
  const StoredRows rows(toc);
  std::vector<LeavesPart> all;
  for (std::uint32_t i = 0; i < toc.segments.size(); ++i) {
    const Segment& segment = toc.segments[i];
    if (!segment.holds_payload() || segment.leaf_count() < 2) continue;
    const std::uint32_t home =
        sha256 ? static_cast<std::uint32_t>(rows.segment_digest(i).leaves_segment) : segment.leaves_segment;
    if (home != leaves_segment) continue;
    FATCTX_ASSIGN(
        const std::vector<LeavesPart> parts,
        judge_leaf_hashes(file, toc, i, sha256 ? LeafHash::kSha256 : LeafHash::kXxh3, {0, segment.leaf_count()}));
    all.insert(all.end(), parts.begin(), parts.end());
  }
  return all;
}

}  // namespace fatctx::container
