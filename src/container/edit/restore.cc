#include "container/edit/restore.h"

#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "container/check/padding.h"
#include "container/format/copy_out.h"
#include "container/format/leaf_range.h"
#include "container/read/leaves.h"
#include "container/read/stored_rows.h"
#include "container/write/header_build.h"

namespace fatctx::container {
namespace {

constexpr std::size_t kSlotCount = 4;
constexpr std::size_t kPairs = 2;
constexpr std::uint64_t kHeaderPage = 0x1000;  // a disk may lose it as a whole

bool same_page(std::uint64_t one, std::uint64_t other) { return one / kHeaderPage == other / kHeaderPage; }

// Returns the sectors that the present generation relies on: both prologues and both mirrors of its pair.
std::array<std::uint64_t, 4> sectors_relied_on(const Header& header) {
  const HeaderForm& form = header.form();
  return {form.prologues[0], form.prologues[1], form.slots[header.pair], form.slots[header.pair + kPairs]};
}

// Makes the sectors in this page of the header bad for reads if the present generation relies on them. A failed write
// may have cost them on the disk, and the cache still shows them. The next writer must not take them for good copies.
void distrust_page(mapping::OsFile& file, const Header& header, std::uint64_t offset) {
  for (const std::uint64_t sector : sectors_relied_on(header)) {
    if (same_page(sector, offset)) (void)file.write_at(sector, HeaderSector{});
  }
}

std::vector<std::byte> sector_in(ByteView header, std::uint64_t offset) {
  const ByteView sector = header.subspan(static_cast<std::size_t>(offset), kSectorSize);
  return {sector.begin(), sector.end()};
}

void restore_prologue(ByteView header, const HeaderForm& form, std::size_t copy, std::uint32_t degraded,
                      std::vector<Restoration>& found) {
  const std::uint32_t bit = kDegradedPrologue0 << copy;
  if ((degraded & bit) == 0) return;
  found.push_back({.what = degraded_texts(bit).front(),
                   .range = {form.prologues[copy], kSectorSize},
                   .bytes = sector_in(header, form.prologues[1 - copy])});
}

void restore_slot(ByteView header, const Header& facts, std::size_t index, std::uint32_t degraded,
                  std::vector<Restoration>& found) {
  const std::size_t mirror = (index + kPairs) % kSlotCount;
  const std::uint32_t bit = kDegradedSlotA0 << index;
  if ((degraded & bit) == 0 || (degraded & (kDegradedSlotA0 << mirror)) != 0) return;
  const std::array<std::uint64_t, kSlotCount>& slots = facts.form().slots;
  const HeaderSector sector =
      mirrored_slot(sector_in(header, slots[mirror]), static_cast<std::uint8_t>(index), facts.uuid);
  found.push_back({.what = degraded_texts(bit).front(),
                   .range = {slots[index], kSectorSize},
                   .bytes = {sector.begin(), sector.end()}});
}

// Restores the sectors of the header in an order in which no crash takes a second copy of anything. In the small form a
// prologue and a first mirror share a page, so a crash that tears that page takes both. The mirrors with a page of
// their own come first, then the prologues, then the first mirrors.
void restore_sectors(ByteView header, const Header& facts, std::uint32_t degraded, std::vector<Restoration>& found) {
  for (const std::size_t index : {2U, 3U}) restore_slot(header, facts, index, degraded, found);
  for (const std::size_t copy : {1U, 0U}) restore_prologue(header, facts.form(), copy, degraded, found);
  for (const std::size_t index : {0U, 1U}) restore_slot(header, facts, index, degraded, found);
}

void restore_padding(ByteView header, const HeaderForm& form, std::vector<Restoration>& found) {
  for (const ByteRange gap : header_gaps(form)) {
    if (all_zero(header.subspan(static_cast<std::size_t>(gap.offset), static_cast<std::size_t>(gap.size)))) continue;
    found.push_back({.what = degraded_texts(kDegradedHeaderPadding).front(),
                     .range = gap,
                     .bytes = std::vector<std::byte>(static_cast<std::size_t>(gap.size))});
  }
}

// Computes a leaf range from the payload, and the hash of it that the table has.
template <typename Hash>
Result<std::pair<std::vector<std::byte>, Hash>> leaves_from_payload(const mapping::OsFile& file,
                                                                    const Segment& segment) {
  LeafRangeBuilder<Hash> range(segment.leaf_count());
  FATCTX_TRY(walk_leaves(file, segment, {}, {0, segment.leaf_count()}, [&](std::uint64_t, ByteView leaf, bool) {
    range.add(leaf_hash<Hash>(leaf));
    return Status(Done{});
  }));
  const Hash root = range.finish();
  return std::pair(range.take(), root);
}

// Restores the leaf hashes of one algorithm. Returns nothing if they are good. Also returns nothing if the table does
// not confirm the hashes of the payload: then the payload is damaged, alone or as well.
Result<std::optional<Restoration>> restoration_of_leaves(const mapping::OsFile& file, const Toc& toc,
                                                         std::uint32_t index, LeafHash which) {
  const Segment& segment = toc.segments[index];
  auto stored = read_leaves(file, toc, segment, which);
  if (stored.ok()) return std::optional<Restoration>();
  const ErrorCode why = stored.error().code;
  if (why != ErrorCode::kChecksumMismatch && why != ErrorCode::kNotPresent) return std::move(stored).error();
  Restoration restoration;
  bool confirmed = false;
  if (which == LeafHash::kXxh3) {
    FATCTX_ASSIGN(auto made, leaves_from_payload<Hash128>(file, segment));
    confirmed = made.second == segment.leaves_hash;
    restoration.bytes = std::move(made.first);
    restoration.range.offset = offset_of_leaves(toc, segment);
  } else {
    const SegmentDigest digest = StoredRows(toc).segment_digest(index);
    FATCTX_ASSIGN(auto made, leaves_from_payload<DiskSha256>(file, segment));
    confirmed = made.second == digest.leaves_sha256;
    restoration.bytes = std::move(made.first);
    restoration.range.offset = offset_of_leaves(toc, digest);
  }
  if (!confirmed) return std::optional<Restoration>();
  restoration.what = (which == LeafHash::kXxh3 ? "" : "SHA-256 ") + name_of_leaf_hashes(toc, index);
  restoration.range.size = restoration.bytes.size();
  return std::optional(std::move(restoration));
}

// Returns the bytes of a table from its two copies, page by page; nothing if both lack the same page.
Result<std::optional<std::vector<std::byte>>> whole_table(const mapping::OsFile& file, const Header& header) {
  std::vector<std::byte> first(static_cast<std::size_t>(header.toc_size));
  std::vector<std::byte> second(first.size());
  FATCTX_TRY(file.read_at(header.toc_offset[0], first));
  FATCTX_TRY(file.read_at(header.toc_offset[1], second));
  if (!mend_toc(first, second, header)) return std::optional<std::vector<std::byte>>();
  return std::optional(std::move(first));
}

}  // namespace

std::string name_of_leaf_hashes(const Toc& toc, std::uint32_t segment) {
  for (const RecordInfo& record : toc.records) {
    for (std::uint32_t i = 0; i < record.slice_count; ++i) {
      if (toc.slices[toc.forms[toc.index_of(record)].first_slice + i].segment != segment) continue;
      return fmt::format("leaf hashes of record {} \"{}\"", record.id, record.name);
    }
  }
  return "leaf hashes";
}

Result<std::vector<Restoration>> restorations_of(const mapping::OsFile& file, const Header& header,
                                                 std::uint32_t degraded) {
  std::vector<Restoration> found;
  if (degraded == 0) return found;
  std::vector<std::byte> bytes(static_cast<std::size_t>(header.form().size));
  FATCTX_TRY(file.read_at(0, bytes));
  restore_sectors(bytes, header, degraded, found);
  const std::uint32_t both = kDegradedToc0 | kDegradedToc1;
  if ((degraded & both) != 0) {
    FATCTX_ASSIGN(const std::optional<std::vector<std::byte>> table, whole_table(file, header));
    for (const std::size_t copy : {0U, 1U}) {
      const std::uint32_t bit = copy == 0 ? kDegradedToc0 : kDegradedToc1;
      if ((degraded & bit) == 0 || !table) continue;
      found.push_back({.what = degraded_texts(bit).front(),
                       .range = {header.toc_offset[copy], header.toc_size},
                       .bytes = {},
                       .table = header});
    }
  }
  if ((degraded & kDegradedHeaderPadding) != 0) restore_padding(bytes, header.form(), found);
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
      .toc_head_size = previous.toc_head_size,
      .toc_hash = previous.toc_hash,
      .previous_toc_hash = earlier.size() > 1 ? earlier[earlier.size() - 2].toc_hash : Hash128{}};
  for (const std::size_t mirror : {0U, 1U}) {
    const auto index = static_cast<std::uint8_t>((1U - header.pair) + mirror * kPairs);
    const HeaderSector sector = slot_sector(index, header.uuid, facts);
    found.push_back({.what = degraded_texts(kDegradedSlotA0 << index).front(),
                     .range = {header.form().slots[index], kSectorSize},
                     .bytes = {sector.begin(), sector.end()}});
  }
  return found;
}

Result<std::vector<Restoration>> restorations_behind_header(const mapping::OsFile& file, const Toc& toc) {
  std::vector<Restoration> found;
  for (const Generation& generation : toc.generations) {
    const std::array<std::uint64_t, 2> places = copies_of(generation);
    Header header;
    header.toc_offset = places;
    header.toc_size = generation.toc_size;
    header.toc_head_size = generation.toc_head_size;
    header.toc_hash = generation.toc_hash;
    for (const std::size_t copy : {0U, 1U}) {
      FATCTX_ASSIGN(const bool good, holds_table(file, generation, places[copy]));
      if (good) continue;
      FATCTX_ASSIGN(const std::optional<std::vector<std::byte>> table, whole_table(file, header));
      if (!table) break;
      found.push_back({.what = fmt::format("toc copy {} of generation {}", copy, generation.number),
                       .range = {places[copy], generation.toc_size},
                       .bytes = {},
                       .table = header});
    }
  }
  for (std::uint32_t i = 0; i < toc.segments.size(); ++i) {
    const Segment& segment = toc.segments[i];
    if (!segment.holds_payload() || segment.leaf_count() == 1) continue;  // one leaf is in the table
    const bool sha256_too = StoredRows(toc).segment_digest(i).leaves_segment != kNoSegment;
    for (const LeafHash which : {LeafHash::kXxh3, LeafHash::kSha256}) {
      if (which == LeafHash::kSha256 && !sha256_too) continue;
      FATCTX_ASSIGN(std::optional<Restoration> one, restoration_of_leaves(file, toc, i, which));
      if (one) found.push_back(std::move(*one));
    }
  }
  return found;
}

Result<std::vector<Restoration>> restorations_of_padding(const mapping::OsFile& file, const OpenedToc& opened) {
  std::vector<Restoration> found;
  for (ByteRange gap : padding_behind_header(opened, PaddingOf::kFile)) {
    while (true) {
      FATCTX_ASSIGN(const std::optional<ByteRange> wrong, first_not_zero(file, gap));
      if (!wrong) break;
      found.push_back({.what = "padding", .range = *wrong, .bytes = {}});
      const std::uint64_t end = wrong->offset + wrong->size;
      gap = {end, gap.offset + gap.size - end};
    }
  }
  return found;
}

Result<std::vector<std::byte>> bytes_of(const mapping::OsFile& file, const Restoration& restoration) {
  if (!restoration.table && restoration.bytes.empty()) {
    return std::vector<std::byte>(static_cast<std::size_t>(restoration.range.size));
  }
  if (!restoration.table) return restoration.bytes;
  FATCTX_ASSIGN(std::optional<std::vector<std::byte>> bytes, whole_table(file, *restoration.table));
  if (bytes) return std::move(*bytes);
  return Error{
      ErrorCode::kChanged,
      fmt::format("the good copy of {} was changed by somebody else; nothing was written over", restoration.what),
      {.file_offset = restoration.range.offset}};
}

Status restore(mapping::OsFile& file, const Header& header, std::span<const Restoration> restorations) {
  for (const Restoration& restoration : restorations) {
    FATCTX_ASSIGN(const std::vector<std::byte> bytes, bytes_of(file, restoration));
    std::vector<std::byte> damaged(bytes.size());
    const bool readable = file.read_at(restoration.range.offset, damaged).ok();
    auto written = file.write_at(restoration.range.offset, bytes);
    if (written.ok()) written = file.sync();
    if (!written.ok()) {
      distrust_page(file, header, restoration.range.offset);
      if (readable) (void)file.write_at(restoration.range.offset, damaged);
      return in_context(std::move(written).error(), "restoring " + restoration.what);
    }
  }
  return Done{};
}

Status write_slot_again(mapping::OsFile& file, const Header& header, std::size_t slot) {
  HeaderSector sector;  // on the stack: no allocation may fail once a slot is written
  const auto write_again = [&](std::uint64_t offset) -> Status {
    FATCTX_TRY(file.read_at(offset, sector));
    return file.write_at(offset, sector);
  };
  const std::uint64_t place = header.form().slots[slot];
  for (const std::uint64_t prologue : header.form().prologues) {
    if (same_page(prologue, place)) FATCTX_TRY(write_again(prologue));
  }
  return write_again(place);
}

Status write_present_pair_again(mapping::OsFile& file, const Header& header) {
  FATCTX_TRY(write_slot_again(file, header, header.pair));
  FATCTX_TRY(file.sync());
  const std::size_t second = header.pair + kPairs;
  auto mirrored = write_slot_again(file, header, second);
  if (mirrored.ok()) mirrored = file.sync();
  if (!mirrored.ok()) distrust_page(file, header, header.form().slots[second]);
  return mirrored;
}

Status write_older_pair_again(mapping::OsFile& file, const Header& header) {
  const std::size_t older = 1U - header.pair;
  auto written = write_slot_again(file, header, older);
  if (written.ok()) written = write_slot_again(file, header, older + kPairs);
  if (written.ok()) written = file.sync();
  if (!written.ok()) distrust_page(file, header, header.form().slots[older]);
  return written;
}

}  // namespace fatctx::container
