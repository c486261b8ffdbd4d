#include "container/fetch/seed_leaves.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fatctx::container {
namespace {

bool before(const LeafPlace& a, const LeafPlace& b) { return a.hash < b.hash || (a.hash == b.hash && a.size < b.size); }

}  // namespace

LeafPlaces::LeafPlaces(const std::vector<WantedLeaf>& leaves) {
  places_.reserve(leaves.size());
  for (const WantedLeaf& leaf : leaves) places_.push_back({leaf.hash, leaf.in_file.size});
  std::sort(places_.begin(), places_.end(), before);
  const auto equal = [](const LeafPlace& a, const LeafPlace& b) { return a.hash == b.hash && a.size == b.size; };
  places_.erase(std::unique(places_.begin(), places_.end(), equal), places_.end());
}

bool LeafPlaces::any_nowhere() const noexcept {
  return std::any_of(places_.begin(), places_.end(),
                     [](const LeafPlace& place) { return place.seed == LeafPlace::kNowhere; });
}

std::vector<LeafPlace>::iterator LeafPlaces::find_place(const Hash128& hash, std::uint64_t size) noexcept {
  const LeafPlace wanted{hash, size};
  const auto found = std::lower_bound(places_.begin(), places_.end(), wanted, before);
  return found == places_.end() || before(wanted, *found) ? places_.end() : found;
}

const LeafPlace& LeafPlaces::of(const WantedLeaf& leaf) const noexcept {
  return *std::lower_bound(places_.begin(), places_.end(), LeafPlace{leaf.hash, leaf.in_file.size}, before);
}

void LeafPlaces::find_in_equal_segments(const Toc& seed, std::uint32_t index, const Toc& toc,
                                        const std::vector<WantedLeaf>& leaves) {
  std::map<std::pair<Hash128, std::uint64_t>, const Segment*> segments;  // segments of the seed by hash and size
  for (const Segment& segment : seed.segments) {
    if (segment.holds_payload()) segments.emplace(std::pair(segment.leaves_hash, segment.size), &segment);
  }
  for (const WantedLeaf& leaf : leaves) {
    const Segment& segment = toc.segments[leaf.segment];
    const auto equal = segments.find({segment.leaves_hash, segment.size});
    if (equal == segments.end()) continue;
    const auto place = find_place(leaf.hash, leaf.in_file.size);
    if (place->seed != LeafPlace::kNowhere) continue;
    place->seed = index;
    place->offset = equal->second->offset + (leaf.leaf << kLeafLog2);
  }
}

void LeafPlaces::find(const mapping::OsFile& file, const Toc& seed, std::uint32_t index) {
  for (const Segment& segment : seed.segments) {
    if (!segment.holds_payload()) continue;
    const std::uint64_t count = segment.leaf_count();
    for (std::uint64_t first = 0; first < count; first += kLeavesPerPage) {  // a partial seed lacks some pages
      const LeafRange page{first, std::min(count, first + kLeavesPerPage)};
      const auto leaves = read_leaves(file, seed, segment, LeafHash::kXxh3, page);
      if (!leaves.ok()) continue;
      for (std::uint64_t leaf = page.first; leaf < page.end; ++leaf) {
        const auto place = find_place(leaves.value().xxh3[static_cast<std::size_t>(leaf - leaves.value().first)],
                                      std::min(kLeafSize, segment.size - (leaf << kLeafLog2)));
        if (place == places_.end() || place->seed != LeafPlace::kNowhere) continue;
        place->seed = index;
        place->offset = segment.offset + (leaf << kLeafLog2);
      }
    }
  }
}

Result<Seed> open_seed(std::unique_ptr<mapping::OsFile> file) {
  FATCTX_ASSIGN(mapping::FileIdentity identity, file->identity());
  FATCTX_ASSIGN(OpenedToc opened, read_growing(*file, identity, 0));
  return Seed{std::move(file), std::move(opened), identity.size};
}

Result<std::uint64_t> take_from_seeds(const std::vector<Seed>& seeds, WantedLeaves& wanted) {
  if (seeds.empty() || wanted.missing().empty()) return std::uint64_t{0};
  const std::vector<WantedLeaf> leaves = wanted.missing_leaves();
  LeafPlaces places(leaves);
  for (std::uint32_t i = 0; i < seeds.size(); ++i) places.find(*seeds[i].file, seeds[i].opened.toc, i);
  const std::uint64_t missing = wanted.missing().bytes();
  std::vector<std::byte> bytes(kLeafSize);
  for (const WantedLeaf& leaf : leaves) {
    const LeafPlace& place = places.of(leaf);
    if (place.seed == LeafPlace::kNowhere) continue;
    const auto into = std::span(bytes).first(static_cast<std::size_t>(place.size));
    if (!seeds[place.seed].file->read_at(place.offset, into).ok()) continue;
    auto taken = wanted.take(leaf.in_file.offset, into);
    // The seed is damaged, partial or hostile. The source has the right bytes.
    if (!taken.ok() && taken.error().code != ErrorCode::kChecksumMismatch) return std::move(taken).error();
  }
  return missing - wanted.missing().bytes();
}

}  // namespace fatctx::container
