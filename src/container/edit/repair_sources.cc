#include "container/edit/repair_sources.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "container/check/leaf_parts.h"
#include "container/edit/restored_file.h"
#include "container/fetch/seed_leaves.h"
#include "container/format/byte_set.h"
#include "container/format/copy_out.h"
#include "container/read/stored_rows.h"

namespace fatctx::container {
namespace {

// The leaf hashes of 256 GiB. A source that says that it has more is searched only in segments that are equal.
constexpr std::uint64_t kMostHashBytes = std::uint64_t{64} << 20U;

// The parts of one segment's leaf hashes by one algorithm that are not good.
struct LackingHashes {
  std::uint32_t segment = 0;
  LeafHash which = LeafHash::kXxh3;
  std::vector<LeavesPart> parts;

  [[nodiscard]] bool done() const {
    return std::all_of(parts.begin(), parts.end(),
                       [](const LeavesPart& part) { return part.state == PartState::kGood; });
  }
};

Result<std::vector<LackingHashes>> lacking_hashes(const mapping::OsFile& file, const Toc& toc) {
  std::vector<LackingHashes> lacking;
  for (std::uint32_t i = 0; i < toc.segments.size(); ++i) {
    const Segment& segment = toc.segments[i];
    if (!segment.holds_payload() || segment.leaf_count() < 2) continue;
    for (const LeafHash which : leaf_hashes_named(toc, i)) {
      FATCTX_ASSIGN(std::vector<LeavesPart> parts, judge_leaf_hashes(file, toc, i, which, {0, segment.leaf_count()}));
      LackingHashes one{i, which, std::move(parts)};
      if (!one.done()) lacking.push_back(std::move(one));
    }
  }
  return lacking;
}

// Returns the segment of `source` whose leaf hashes are those of a segment of `toc`, byte for byte.
std::optional<std::uint32_t> equal_segment(const Toc& toc, const LackingHashes& lacking, const Toc& source) {
  const Segment& wanted = toc.segments[lacking.segment];
  const bool sha256 = lacking.which == LeafHash::kSha256;
  const DiskSha256 digest = StoredRows(toc).segment_digest(lacking.segment).leaves_sha256;
  const StoredRows rows(source);
  for (std::uint32_t i = 0; i < source.segments.size(); ++i) {
    const Segment& one = source.segments[i];
    if (!one.holds_payload() || one.size != wanted.size) continue;
    if (sha256 ? rows.segment_digest(i).leaves_sha256 == digest : one.leaves_hash == wanted.leaves_hash) return i;
  }
  return std::nullopt;
}

// Returns the places of all leaf hashes by XXH3 in the file.
std::vector<ByteRange> places_of_hashes(const Toc& toc) {
  ByteSet places;
  for (std::uint32_t i = 0; i < toc.segments.size(); ++i) {
    const Segment& segment = toc.segments[i];
    if (!segment.holds_payload()) continue;
    for (const ByteRange& part : places_of_leaf_hashes(toc, i, LeafHash::kXxh3, {0, segment.leaf_count()})) {
      places.add(part);
    }
  }
  return places.ranges();
}

}  // namespace

struct RepairSources::Copies {
  std::map<std::uint64_t, std::vector<WantedLeaf>> targets;  // by the offset in the source

  [[nodiscard]] std::vector<ByteRange> ranges() const {
    ByteSet set;
    for (const auto& [offset, leaves] : targets) set.add({offset, leaves.front().in_file.size});
    return set.ranges();
  }
  // Calls `use` with each leaf under the range of the source, and the part of it.
  template <typename Use>
  Status for_each(ByteRange range, const Use& use) const {
    auto next = targets.upper_bound(range.offset);
    if (next != targets.begin()) --next;
    for (; next != targets.end() && next->first < range.offset + range.size; ++next) {
      const ByteRange part = overlap({next->first, next->second.front().in_file.size}, range);
      if (part.size == 0) continue;
      for (const WantedLeaf& leaf : next->second) FATCTX_TRY(use(leaf, part, part.offset - next->first));
    }
    return Done{};
  }
};

RepairSources::RepairSources(const RepairOptions& options, const mapping::FileIdentity& target) {
  for (const std::string& path : options.from) sources_.emplace_back().from = source_here(path, target);
  for (const RepairSource& source : options.sources) sources_.emplace_back().from = source;
  for (Source& source : sources_) source.report.name = source.from.name;
}

// Keeps the reason why a source was not used. A request to stop is returned.
Status RepairSources::note(Source& source, Error error) {
  if (error.code == ErrorCode::kCancelled) return error;
  source.report.problem = error.message;
  return Done{};
}

Result<bool> RepairSources::open(Source& source) {
  if (source.tried) return source.file != nullptr;
  source.tried = true;
  auto file = SourceFile::open(source.from);
  if (!file.ok()) {
    FATCTX_TRY(note(source, std::move(file).error()));
    return false;
  }
  FATCTX_ASSIGN(mapping::FileIdentity identity, file.value()->identity());
  auto opened = read_growing(*file.value(), identity, 0);
  if (!opened.ok()) {
    FATCTX_TRY(note(source, std::move(opened).error()));
    return false;
  }
  source.file = std::move(file).value();
  source.opened = std::move(opened).value();
  return true;
}

Result<bool> RepairSources::any_opens() {
  for (Source& source : sources_) {
    FATCTX_ASSIGN(const bool opens, open(source));
    if (opens) return true;
  }
  return false;
}

Result<std::vector<Restoration>> RepairSources::table_of(const Header& header) {
  std::vector<Restoration> copies;
  for (Source& source : sources_) {
    FATCTX_ASSIGN(const bool opens, open(source));
    if (!opens || source.opened.header.uuid != header.uuid) continue;
    // A later generation of the same container still has the table of this one.
    auto opened = read_generation(*source.file, source.file->size(), header.generation);
    if (!opened.ok()) {
      FATCTX_TRY(note(source, std::move(opened).error()));
      continue;
    }
    const ByteView bytes = opened.value().toc.bytes_view();
    if (bytes.size() != header.toc_size || !toc_matches(bytes, header)) continue;
    for (const std::size_t copy : {0U, 1U}) {
      copies.push_back({.what = degraded_texts(copy == 0 ? kDegradedToc0 : kDegradedToc1).front(),
                        .range = {header.toc_offset[copy], header.toc_size},
                        .bytes = {bytes.begin(), bytes.end()}});
    }
    return copies;
  }
  return copies;
}

Result<std::vector<Restoration>> RepairSources::leaf_hashes_for(const mapping::OsFile& file, const Toc& toc) {
  std::vector<Restoration> found;
  FATCTX_ASSIGN(std::vector<LackingHashes> lacking, lacking_hashes(file, toc));
  for (Source& source : sources_) {
    if (lacking.empty()) return found;
    FATCTX_ASSIGN(const bool opens, open(source));
    if (!opens) continue;
    ByteSet wanted;
    std::vector<std::vector<ByteRange>> places(lacking.size());  // in the source; empty: it does not have them
    for (std::size_t i = 0; i < lacking.size(); ++i) {
      const auto equal = equal_segment(toc, lacking[i], source.opened.toc);
      if (!equal) continue;
      const LeafRange all{0, toc.segments[lacking[i].segment].leaf_count()};
      places[i] = places_of_leaf_hashes(source.opened.toc, *equal, lacking[i].which, all);
      for (std::size_t part = 0; part < places[i].size(); ++part) {
        if (lacking[i].parts[part].state != PartState::kGood) wanted.add(places[i][part]);
      }
    }
    auto read = source.file->read_ahead(wanted.ranges());
    if (!read.ok()) {
      FATCTX_TRY(note(source, std::move(read).error()));
      continue;
    }
    for (std::size_t i = 0; i < lacking.size(); ++i) {
      if (places[i].empty()) continue;
      std::vector<Restoration> promised;
      for (std::size_t part = 0; part < places[i].size(); ++part) {
        if (lacking[i].parts[part].state == PartState::kGood) continue;
        Restoration one{.what = (lacking[i].which == LeafHash::kSha256 ? "SHA-256 " : "") +
                                name_of_leaf_hashes(toc, lacking[i].segment),
                        .range = lacking[i].parts[part].in_file,
                        .bytes = std::vector<std::byte>(static_cast<std::size_t>(places[i][part].size))};
        FATCTX_TRY(source.file->read_at(places[i][part].offset, one.bytes));
        promised.push_back(std::move(one));
      }
      FATCTX_ASSIGN(const std::vector<LeavesPart> parts,
                    judge_leaf_hashes(RestoredFile(file, promised), toc, lacking[i].segment, lacking[i].which,
                                      {0, toc.segments[lacking[i].segment].leaf_count()}));
      for (Restoration& one : promised) {
        const auto part = std::find_if(parts.begin(), parts.end(), [&](const LeavesPart& judged) {
          return judged.in_file.offset == one.range.offset;
        });
        if (part == parts.end() || part->state != PartState::kGood) continue;
        source.report.restored_bytes += one.bytes.size();
        lacking[i].parts[static_cast<std::size_t>(part - parts.begin())].state = PartState::kGood;
        found.push_back(std::move(one));
      }
    }
    std::erase_if(lacking, [](const LackingHashes& one) { return one.done(); });
  }
  return found;
}

Status RepairSources::find_leaves(Source& source, const Toc& toc, const std::vector<WantedLeaf>& leaves,
                                  Copies& copies) {
  LeafPlaces places(leaves);
  places.find_in_equal_segments(source.opened.toc, 0, toc, leaves);
  if (places.any_nowhere()) {
    const std::vector<ByteRange> hashes = places_of_hashes(source.opened.toc);
    std::uint64_t size = 0;
    for (const ByteRange& range : hashes) size += range.size;
    if (size <= kMostHashBytes) {
      auto read = source.file->read_ahead(hashes);
      if (!read.ok()) return note(source, std::move(read).error());
      places.find(*source.file, source.opened.toc, 0);
    }
  }
  for (const WantedLeaf& leaf : leaves) {
    const LeafPlace& place = places.of(leaf);
    if (place.seed != LeafPlace::kNowhere) copies.targets[place.offset].push_back(leaf);
  }
  return Done{};
}

Result<ByteSet> RepairSources::take_leaves(const Toc& toc, WantedLeaves& wanted, bool dry_run,
                                           const Progress& progress) {
  const std::uint64_t all = wanted.missing().bytes();
  ByteSet promised;  // in a dry run
  for (Source& source : sources_) {
    std::vector<WantedLeaf> leaves = wanted.missing_leaves();
    std::erase_if(leaves, [&](const WantedLeaf& leaf) { return promised.contains(leaf.in_file.offset); });
    if (leaves.empty()) break;
    FATCTX_ASSIGN(const bool opens, open(source));
    if (!opens) continue;
    Copies copies;
    FATCTX_TRY(find_leaves(source, toc, leaves, copies));
    const std::vector<ByteRange> ranges = copies.ranges();
    if (ranges.empty()) continue;
    source.report.ranges += ranges.size();
    if (dry_run) {
      const std::uint64_t before = promised.bytes();
      for (const auto& [offset, targets] : copies.targets) {
        for (const WantedLeaf& leaf : targets) promised.add(leaf.in_file);
      }
      for (const ByteRange& range : ranges) source.report.read_bytes += range.size;
      source.report.restored_bytes += promised.bytes() - before;
      continue;
    }
    const std::uint64_t before = wanted.missing().bytes();
    std::optional<Error> failed;  // a failure of the file under repair, not of the source
    const TakeBytes take = [&](std::uint64_t offset, ByteView bytes) -> Status {
      return copies.for_each({offset, bytes.size()}, [&](const WantedLeaf& leaf, ByteRange part, std::uint64_t within) {
        const ByteView piece =
            bytes.subspan(static_cast<std::size_t>(part.offset - offset), static_cast<std::size_t>(part.size));
        auto taken = wanted.take(leaf.in_file.offset + within, piece);
        if (progress) progress(all - wanted.missing().bytes(), all);
        if (taken.ok() || taken.error().code == ErrorCode::kChecksumMismatch) return Status(Done{});
        failed = taken.error();
        return taken;
      });
    };
    auto read = source.file->stream(ranges, take);
    if (failed) return std::move(*failed);
    source.report.restored_bytes += before - wanted.missing().bytes();
    if (!read.ok()) FATCTX_TRY(note(source, std::move(read).error()));
    std::uint64_t asked = 0;
    std::uint64_t wrong = 0;
    for (const auto& [offset, targets] : copies.targets) {
      asked += targets.size();
      for (const WantedLeaf& leaf : targets) wrong += wanted.missing().contains(leaf.in_file.offset) ? 1U : 0U;
    }
    if (wrong != 0 && source.report.problem.empty()) {
      source.report.problem = fmt::format(
          "{} of {} leaves came with other bytes than their hashes promise; none of "
          "them was written",
          wrong, asked);
    }
  }
  ByteSet lacking = wanted.missing();
  for (const ByteRange& range : promised.ranges()) lacking.remove(range);
  return lacking;
}

std::vector<RepairSourceReport> RepairSources::reports() const {
  std::vector<RepairSourceReport> reports;
  for (const Source& source : sources_) {
    if (!source.tried) continue;
    reports.push_back(source.report);
    if (source.file) reports.back().read_bytes += source.file->read_bytes();
  }
  return reports;
}

}  // namespace fatctx::container
