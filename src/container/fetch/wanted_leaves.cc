#include "container/fetch/wanted_leaves.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "container/check/leaf_parts.h"
#include "container/format/copy_out.h"
#include "container/format/hash.h"
#include "mapping/file_holes.h"

namespace fatctx::container {
namespace {

constexpr std::size_t kMostParts = 256;  // 16 MiB

}  // namespace

Result<WantedLeaves> WantedLeaves::make(mapping::OsFile& file, const Toc& toc, const std::vector<SegmentLeaves>& leaves,
                                        Proof proof) {
  WantedLeaves wanted(file, toc);
  for (const SegmentLeaves& one : leaves) {
    if (one.range.first >= one.range.end) continue;
    const Segment& segment = toc.segments[one.segment];
    const bool both = leaf_hashes_named(toc, one.segment).size() > 1;
    auto read = read_leaves(file, toc, segment, both ? LeafHash::kBoth : LeafHash::kXxh3, one.range);
    if (both && !read.ok() && proof == Proof::kWhatIsThere) {
      read = read_leaves(file, toc, segment, LeafHash::kXxh3, one.range);
    }
    FATCTX_ASSIGN(Leaves hashes, std::move(read));
    const std::uint64_t first = one.range.first << kLeafLog2;
    const std::uint64_t end = std::min(one.range.end << kLeafLog2, segment.size);
    wanted.runs_.push_back({one.segment, one.range, {segment.offset + first, end - first}, std::move(hashes)});
    wanted.missing_.add(wanted.runs_.back().in_file);
  }
  std::sort(wanted.runs_.begin(), wanted.runs_.end(),
            [](const Run& a, const Run& b) { return a.in_file.offset < b.in_file.offset; });
  return wanted;
}

ByteRange WantedLeaves::in_file(const Run& run, std::uint64_t leaf) const noexcept {
  const Segment& segment = toc_->segments[run.segment];
  const std::uint64_t first = leaf << kLeafLog2;
  return {segment.offset + first, std::min(kLeafSize, segment.size - first)};
}

std::vector<WantedLeaves::Run>::const_iterator WantedLeaves::first_run_behind(std::uint64_t offset) const noexcept {
  return std::partition_point(runs_.begin(), runs_.end(),
                              [&](const Run& run) { return run.in_file.offset + run.in_file.size <= offset; });
}

std::vector<WantedLeaf> WantedLeaves::missing_leaves() const {
  std::vector<WantedLeaf> leaves;
  for (const Run& run : runs_) {
    for (std::uint64_t leaf = run.range.first; leaf < run.range.end; ++leaf) {
      const ByteRange range = in_file(run, leaf);
      if (!missing_.contains(range.offset)) continue;
      const Hash128& hash = run.hashes.xxh3[static_cast<std::size_t>(leaf - run.hashes.first)];
      leaves.push_back({run.segment, leaf, range, hash});
    }
  }
  return leaves;
}

Status WantedLeaves::look_at_file(Wrong wrong) {
  std::vector<std::byte> bytes(kLeafSize);
  const std::vector<std::byte> zeros(kLeafSize);
  const Hash128 of_zeros = hash128(zeros);
  for (const Run& run : runs_) {
    ByteSet holes;
    for (const ByteRange& hole : mapping::holes_of(*file_, run.in_file)) holes.add(hole);
    for (std::uint64_t leaf = run.range.first; leaf < run.range.end; ++leaf) {
      const ByteRange range = in_file(run, leaf);
      const std::vector<ByteRange> hole = holes.within(range);
      if (hole.size() == 1 && hole.front() == range) {
        const Hash128& hash = run.hashes.xxh3[static_cast<std::size_t>(leaf - run.hashes.first)];
        const bool meant = range.size == kLeafSize
                               ? hash == of_zeros
                               : run.hashes.match(leaf, ByteView(zeros).first(static_cast<std::size_t>(range.size)));
        if (meant) missing_.remove(range);
        continue;
      }
      const std::span<std::byte> into = std::span(bytes).first(static_cast<std::size_t>(range.size));
      FATCTX_TRY(file_->read_at(range.offset, into));
      if (run.hashes.match(leaf, into)) {
        missing_.remove(range);
      } else if (wrong == Wrong::kMakeHole) {
        if (!all_zero(into)) {
          FATCTX_TRY(mapping::make_hole(*file_, range));
        } else {
          (void)mapping::punch_hole(*file_, range);  // zeros that were written pass for present
        }
      }
    }
  }
  return Done{};
}

ByteSet WantedLeaves::lacking() const {
  ByteSet lacking = missing_;
  for (const ByteRange& range : unproven_.ranges()) lacking.remove(range);
  return lacking;
}

Status WantedLeaves::take(std::uint64_t offset, ByteView bytes) {
  std::optional<Error> first_error;
  FATCTX_TRY(for_missing_leaves({offset, bytes.size()}, [&](const Run& run, std::uint64_t leaf) -> Status {
    auto taken = take_leaf(run, leaf, offset, bytes);
    if (taken.ok() || taken.error().code != ErrorCode::kChecksumMismatch) return taken;
    if (!first_error) first_error = std::move(taken).error();
    return Done{};
  }));
  if (first_error) return std::move(*first_error);
  return Done{};
}

Status WantedLeaves::guess(std::uint64_t offset, ByteView bytes) {
  return for_missing_leaves({offset, bytes.size()}, [&](const Run& run, std::uint64_t leaf) -> Status {
    FATCTX_TRY(write_part(run, leaf));
    const ByteRange range = overlap(in_file(run, leaf), {offset, bytes.size()});
    ByteSet lacking;  // bytes that came are better than a guess
    lacking.add(range);
    for (const ByteRange& here : unproven_.within(range)) lacking.remove(here);
    for (const ByteRange& one : lacking.ranges()) {
      guessed_.add(one);
      FATCTX_TRY(add_to_guesses(
          run, leaf, one.offset,
          bytes.subspan(static_cast<std::size_t>(one.offset - offset), static_cast<std::size_t>(one.size))));
    }
    return Done{};
  });
}

// Writes the bytes of a leaf that came before its first guess.
Status WantedLeaves::write_part(const Run& run, std::uint64_t leaf) {
  const ByteRange range = in_file(run, leaf);
  const auto part = parts_.find(range.offset);
  if (part == parts_.end()) return Done{};
  for (const ByteRange& here : part->second.here.ranges()) {
    const std::size_t at = static_cast<std::size_t>(here.offset - range.offset);
    FATCTX_TRY(
        file_->write_at(here.offset, ByteView(part->second.bytes).subspan(at, static_cast<std::size_t>(here.size))));
    unproven_.add(here);
  }
  parts_.erase(part);
  return Done{};
}

// Calls `body` for each missing leaf that a range touches.
template <typename Body>
Status WantedLeaves::for_missing_leaves(ByteRange range, const Body& body) {
  const std::uint64_t end = range.offset + range.size;
  for (auto run = first_run_behind(range.offset); run != runs_.end() && run->in_file.offset < end; ++run) {
    const ByteRange both = overlap(run->in_file, range);
    if (both.size == 0) continue;
    const std::uint64_t base = toc_->segments[run->segment].offset;
    const LeafRange touched = leaves_touched({both.offset - base, both.size});
    for (std::uint64_t leaf = touched.first; leaf < touched.end; ++leaf) {
      if (missing_.contains(in_file(*run, leaf).offset)) FATCTX_TRY(body(*run, leaf));
    }
  }
  return Done{};
}

Status WantedLeaves::take_leaf(const Run& run, std::uint64_t leaf, std::uint64_t offset, ByteView bytes) {
  const ByteRange range = in_file(run, leaf);
  const ByteRange given = overlap(range, {offset, bytes.size()});
  const ByteView piece =
      bytes.subspan(static_cast<std::size_t>(given.offset - offset), static_cast<std::size_t>(given.size));
  if (given == range) {
    parts_.erase(range.offset);
    unproven_.remove(range);
    guessed_.remove(range);
    return write_leaf(run, leaf, piece);
  }
  if (!unproven_.within(range).empty()) {
    guessed_.remove(given);
    return add_to_guesses(run, leaf, given.offset, piece);
  }
  if (!parts_.contains(range.offset) && parts_.size() == kMostParts) drop_oldest_part();
  Part& part = parts_[range.offset];
  part.bytes.resize(static_cast<std::size_t>(range.size));
  part.age = ++clock_;
  std::memcpy(part.bytes.data() + (given.offset - range.offset), piece.data(), piece.size());
  part.here.add(given);
  if (part.here.bytes() < range.size) return Done{};
  const std::vector<std::byte> whole = std::move(part.bytes);
  parts_.erase(range.offset);
  return write_leaf(run, leaf, whole);
}

// Writes bytes of a leaf that has guesses. If the complete leaf is wrong, a guess may be the cause: it is wanted again,
// without an error.
Status WantedLeaves::add_to_guesses(const Run& run, std::uint64_t leaf, std::uint64_t offset, ByteView bytes) {
  const ByteRange range = in_file(run, leaf);
  FATCTX_TRY(file_->write_at(offset, bytes));
  unproven_.add({offset, bytes.size()});
  const std::vector<ByteRange> here = unproven_.within(range);
  if (here.size() != 1 || here.front() != range) return Done{};
  unproven_.remove(range);
  std::vector<std::byte> whole(static_cast<std::size_t>(range.size));
  FATCTX_TRY(file_->read_at(range.offset, whole));
  if (run.hashes.match(leaf, whole)) {
    missing_.remove(range);
    return Done{};
  }
  guessed_.remove(range);
  return mapping::make_hole(*file_, range);
}

Status WantedLeaves::write_leaf(const Run& run, std::uint64_t leaf, ByteView bytes) {
  const ByteRange range = in_file(run, leaf);
  if (!run.hashes.match(leaf, bytes)) {
    if (all_zero(bytes)) {
      return Error{ErrorCode::kChecksumMismatch,
                   fmt::format("bytes {:#x} to {:#x} came as zeros; the source does not have them", range.offset,
                               range.offset + range.size),
                   {.file_offset = range.offset, .rule = "F26"}};
    }
    return Error{ErrorCode::kChecksumMismatch,
                 fmt::format("bytes {:#x} to {:#x} came damaged: they do not match the container's hash", range.offset,
                             range.offset + range.size),
                 {.file_offset = range.offset, .rule = "F26"}};
  }
  FATCTX_TRY(file_->write_at(range.offset, bytes));
  missing_.remove(range);
  return Done{};
}

void WantedLeaves::drop_oldest_part() {
  const auto oldest = std::min_element(parts_.begin(), parts_.end(),
                                       [](const auto& a, const auto& b) { return a.second.age < b.second.age; });
  if (oldest != parts_.end()) parts_.erase(oldest);
}

}  // namespace fatctx::container
