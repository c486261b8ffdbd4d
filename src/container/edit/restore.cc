#include "container/edit/restore.h"

#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/crypto.h"
#include "container/format/hash.h"
#include "container/read/leaves.h"
#include "container/read/stored_rows.h"
#include "container/write/header_build.h"

namespace fatctx::container {
namespace {

constexpr std::size_t kSlotCount = kSlotOffsets.size();

std::vector<std::byte> page_in(ByteView header, std::uint64_t offset) {
  const ByteView page = header.subspan(static_cast<std::size_t>(offset), kPageSize);
  return {page.begin(), page.end()};
}

void restore_prologues(ByteView header, std::uint32_t degraded, std::vector<Restoration>& found) {
  for (std::size_t copy = 0; copy < kPrologueOffsets.size(); ++copy) {
    const std::uint32_t bit = kDegradedPrologue0 << copy;
    if ((degraded & bit) == 0) continue;
    found.push_back({.what = degraded_texts(bit).front(),
                     .range = {kPrologueOffsets[copy], kPageSize},
                     .bytes = page_in(header, kPrologueOffsets[1 - copy])});
  }
}

void restore_slots(ByteView header, const DiskUuid& uuid, std::uint32_t degraded, std::vector<Restoration>& found) {
  for (std::size_t index = 0; index < kSlotCount; ++index) {
    const std::size_t mirror = (index + kSlotCount / 2) % kSlotCount;
    const std::uint32_t bit = kDegradedSlotA0 << index;
    if ((degraded & bit) == 0 || (degraded & (kDegradedSlotA0 << mirror)) != 0) continue;
    const HeaderPage page =
        mirrored_slot(page_in(header, kSlotOffsets[mirror]), static_cast<std::uint8_t>(index), uuid);
    found.push_back({.what = degraded_texts(bit).front(),
                     .range = {kSlotOffsets[index], kPageSize},
                     .bytes = {page.begin(), page.end()}});
  }
}

void restore_padding(ByteView header, std::vector<Restoration>& found) {
  for (const ByteRange gap : kHeaderGaps) {
    for (std::uint64_t offset = gap.offset; offset < gap.offset + gap.size; offset += kPageSize) {
      if (all_zero(header.subspan(static_cast<std::size_t>(offset), kPageSize))) continue;
      found.push_back({.what = degraded_texts(kDegradedHeaderPadding).front(),
                       .range = {offset, kPageSize},
                       .bytes = std::vector<std::byte>(kPageSize)});
    }
  }
}

// Returns text such as: leaf hashes of record 5 "weights". The record is the first with bytes in the segment.
std::string name_of_leaves(const Toc& toc, std::uint32_t segment) {
  for (const RecordInfo& record : toc.records) {
    for (std::uint32_t i = 0; i < record.slice_count; ++i) {
      if (toc.slices[toc.forms[toc.index_of(record)].first_slice + i].segment != segment) continue;
      return fmt::format("leaf hashes of record {} \"{}\"", record.id, record.name);
    }
  }
  return "leaf hashes";
}

template <typename Hash, typename HashOf>
Result<std::vector<std::byte>> leaves_from_payload(const mapping::OsFile& file, const Segment& segment,
                                                   const HashOf& hash_of) {
  std::vector<std::byte> leaves;
  leaves.reserve(static_cast<std::size_t>(segment.leaf_count() * sizeof(Hash)));
  FATCTX_TRY(walk_leaves(file, segment, {}, {0, segment.leaf_count()}, [&](std::uint64_t, ByteView bytes, bool) {
    const Hash hash = hash_of(bytes);
    const auto one = std::as_bytes(std::span(&hash, 1));
    leaves.insert(leaves.end(), one.begin(), one.end());
    return Status(Done{});
  }));
  return leaves;
}

// Restores the leaf hashes of one algorithm. Returns nothing if they are good. Also returns nothing if the table does
// not confirm the hashes of the payload: then the payload is damaged, alone or as well.
Result<std::optional<Restoration>> restoration_of_leaves(const mapping::OsFile& file, const Toc& toc,
                                                         std::uint32_t index, LeafHash which) {
  const Segment& segment = toc.segments[index];
  auto stored = read_leaves(file, toc, segment, which);
  if (stored.ok()) return std::optional<Restoration>();
  if (stored.error().code != ErrorCode::kChecksumMismatch) return std::move(stored).error();
  Restoration restoration;
  bool confirmed = false;
  if (which == LeafHash::kXxh3) {
    FATCTX_ASSIGN(restoration.bytes,
                  leaves_from_payload<Hash128>(file, segment, [](ByteView b) { return hash128(b); }));
    confirmed = hash128(restoration.bytes) == segment.leaves_hash;
    restoration.range.offset = offset_of_leaves(toc, segment);
  } else {
    const SegmentEntry row = StoredRows(toc).segment(index);
    FATCTX_ASSIGN(restoration.bytes,
                  leaves_from_payload<DiskSha256>(file, segment, [](ByteView b) { return sha256(b); }));
    confirmed = sha256(restoration.bytes) == row.leaves_sha256;
    restoration.range.offset = offset_of_sha_leaves(toc, row);
  }
  if (!confirmed) return std::optional<Restoration>();
  restoration.what = (which == LeafHash::kXxh3 ? "" : "SHA-256 ") + name_of_leaves(toc, index);
  restoration.range.size = restoration.bytes.size();
  return std::optional(std::move(restoration));
}

}  // namespace

Result<std::vector<Restoration>> restorations_of(const mapping::OsFile& file, const Header& header,
                                                 std::uint32_t degraded) {
  std::vector<Restoration> found;
  if (degraded == 0) return found;
  std::vector<std::byte> bytes(static_cast<std::size_t>(kHeaderSize));
  FATCTX_TRY(file.read_at(0, bytes));
  restore_prologues(bytes, degraded, found);
  restore_slots(bytes, header.uuid, degraded, found);
  for (const std::size_t copy : {0U, 1U}) {
    const std::uint32_t bit = copy == 0 ? kDegradedToc0 : kDegradedToc1;
    const std::uint32_t both = kDegradedToc0 | kDegradedToc1;
    if ((degraded & bit) == 0 || (degraded & both) == both) continue;
    found.push_back({.what = degraded_texts(bit).front(),
                     .range = {header.toc_offset[copy], header.toc_size},
                     .bytes = {},
                     .copy_from = header.toc_offset[1 - copy],
                     .hash = header.toc_hash});
  }
  if ((degraded & kDegradedHeaderPadding) != 0) restore_padding(bytes, found);
  return found;
}

std::vector<Restoration> restorations_of_older_pair(const OpenedToc& opened) {
  std::vector<Restoration> found;
  const Header& header = opened.header;
  const std::vector<Generation>& earlier = opened.toc.generations;
  if ((header.degraded & kDegradedOlderPair) == 0 || earlier.empty()) return found;
  const Generation& previous = earlier.back();
  if (previous.number + 1 != header.generation) return found;
  const GenerationFacts facts{
      .generation = previous.number,
      .committed_end = previous.committed_end,
      .toc_offset = copies_of(previous),
      .toc_size = previous.toc_size,
      .toc_hash = previous.toc_hash,
      .previous_toc_hash = earlier.size() > 1 ? earlier[earlier.size() - 2].toc_hash : Hash128{}};
  for (const std::size_t mirror : {0U, 1U}) {
    const auto index = static_cast<std::uint8_t>((1U - header.pair) + mirror * kSlotCount / 2);
    const HeaderPage page = slot_page(index, header.uuid, facts);
    found.push_back({.what = degraded_texts(kDegradedSlotA0 << index).front(),
                     .range = {kSlotOffsets[index], kPageSize},
                     .bytes = {page.begin(), page.end()}});
  }
  return found;
}

Result<std::vector<Restoration>> restorations_behind_header(const mapping::OsFile& file, const Toc& toc) {
  std::vector<Restoration> found;
  for (const Generation& generation : toc.generations) {
    const std::array<std::uint64_t, 2> places = copies_of(generation);
    FATCTX_ASSIGN(const bool first, holds_table(file, generation, places[0]));
    FATCTX_ASSIGN(const bool second, holds_table(file, generation, places[1]));
    if (first == second) continue;
    const std::size_t bad = first ? 1 : 0;
    found.push_back({.what = fmt::format("toc copy {} of generation {}", bad, generation.number),
                     .range = {places[bad], generation.toc_size},
                     .bytes = {},
                     .copy_from = places[1 - bad],
                     .hash = generation.toc_hash});
  }
  for (std::uint32_t i = 0; i < toc.segments.size(); ++i) {
    const Segment& segment = toc.segments[i];
    if (segment.kind != SegmentKind::kPayload && segment.kind != SegmentKind::kPacked) continue;
    const bool sha256_too = StoredRows(toc).segment(i).sha_leaves_segment != kNoSegment;
    for (const LeafHash which : {LeafHash::kXxh3, LeafHash::kSha256}) {
      if (which == LeafHash::kSha256 && !sha256_too) continue;
      FATCTX_ASSIGN(std::optional<Restoration> one, restoration_of_leaves(file, toc, i, which));
      if (one) found.push_back(std::move(*one));
    }
  }
  return found;
}

Result<std::vector<std::byte>> bytes_of(const mapping::OsFile& file, const Restoration& restoration) {
  if (!restoration.hash) return restoration.bytes;
  std::vector<std::byte> bytes(static_cast<std::size_t>(restoration.range.size));
  FATCTX_TRY(file.read_at(restoration.copy_from, bytes));
  if (hash128(bytes) == *restoration.hash) return bytes;
  return Error{
      ErrorCode::kChanged,
      fmt::format("the good copy of {} was changed by somebody else; nothing was written over", restoration.what),
      {.file_offset = restoration.copy_from}};
}

Status restore(mapping::OsFile& file, const std::vector<Restoration>& restorations) {
  for (const Restoration& restoration : restorations) {
    FATCTX_ASSIGN(const std::vector<std::byte> bytes, bytes_of(file, restoration));
    std::vector<std::byte> damaged(bytes.size());
    const bool readable = file.read_at(restoration.range.offset, damaged).ok();
    auto written = file.write_at(restoration.range.offset, bytes);
    if (written.ok()) written = file.sync();
    if (!written.ok()) {
      if (readable) (void)file.write_at(restoration.range.offset, damaged);
      return in_context(std::move(written).error(), "restoring " + restoration.what);
    }
  }
  return Done{};
}

Status write_slots_again(mapping::OsFile& file, const Header& header) {
  const auto write_again = [&](std::size_t index) -> Status {
    std::vector<std::byte> page(kPageSize);
    FATCTX_TRY(file.read_at(kSlotOffsets[index], page));
    return file.write_at(kSlotOffsets[index], page);
  };
  const std::size_t first = header.pair;
  const std::size_t second = first + kSlotCount / 2;
  const std::size_t older = 1U - first;
  FATCTX_TRY(write_again(first));
  FATCTX_TRY(file.sync());
  auto mirrored = write_again(second);
  if (mirrored.ok()) mirrored = file.sync();
  if (!mirrored.ok()) {  // the next writer must not take it for the good mirror
    (void)file.write_at(kSlotOffsets[second], std::vector<std::byte>(kPageSize));
    return mirrored;
  }
  FATCTX_TRY(write_again(older));
  FATCTX_TRY(write_again(older + kSlotCount / 2));
  return file.sync();
}

}  // namespace fatctx::container
