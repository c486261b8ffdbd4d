#include "container/edit/append_rows.h"

#include <algorithm>
#include <utility>

#include "container/write/toc_build.h"
#include "fatctx/base/checked.h"

namespace fatctx::container {
namespace {

bool holds_payload(const SegmentEntry& segment) {
  return segment.kind == static_cast<std::uint16_t>(SegmentKind::kPayload) ||
         segment.kind == static_cast<std::uint16_t>(SegmentKind::kPacked);
}

SegmentEntry dead_segment(std::uint64_t offset, std::uint64_t size, std::uint64_t generation, unsigned alignment_log2) {
  SegmentEntry entry = {};
  entry.kind = static_cast<std::uint16_t>(SegmentKind::kDead);
  entry.alignment_log2 = static_cast<std::uint8_t>(alignment_log2);
  entry.hash_algorithm = kHashXxh3;
  entry.leaf_log2 = static_cast<std::uint8_t>(kLeafLog2);
  entry.offset = offset;
  entry.size = size;
  entry.generation = generation;
  entry.leaves_segment = kNoSegment;
  return entry;
}

class Merger {
 public:
  Merger(const Header& header, const Toc& toc, const Plan& plan) : header_(header), plan_(plan), rows_(rows_of(toc)) {}

  TocRows run(const Toc& toc, const std::vector<bool>& gone, std::uint64_t first_byte, const PackOptions& options) {
    TocRows added = rows_of(plan_, options);
    take_storage(added);
    keep_records(toc, gone);
    for (const RecordRow& row : added.records) rows_.records.push_back(row);
    for (const ReferenceEntry& row : added.references) rows_.references.push_back(row);
    rows_.generations.push_back(old_generation());
    rows_.generation = header_.generation + 1;
    for (SegmentRow& segment : added.segments) segment.generation = rows_.generation;
    bury_unused(added.segments.size());
    place_dead(first_byte);
    const std::size_t before = rows_.segments.size();  // includes DEAD ones; all come before the new ones
    for (const SegmentRow& segment : added.segments) rows_.segments.push_back(segment);
    renumber(before);
    return std::move(rows_);
  }

 private:
  // Sets the storage fields of new records whose bytes the file has as a whole.
  void take_storage(TocRows& added) const {
    for (std::size_t i = 0; i < added.records.size(); ++i) {
      const PlannedRecord& stored = plan_.records[plan_.records[i].stored_as];
      if (!stored.present_row) continue;
      const RecordRow& there = rows_.records[*stored.present_row];
      RecordEntry& entry = added.records[i].entry;
      entry.codec = there.entry.codec;
      entry.alignment_log2 = there.entry.alignment_log2;
      entry.stored_size = there.entry.stored_size;
      added.records[i].digest = there.digest;
      if ((there.entry.flags & kRecordRecipe) != 0) entry.flags = kRecordRecipe;
      added.records[i].slices = there.slices;
    }
  }

  // Removes records that are gone, and the description: every generation has its own.
  void keep_records(const Toc& toc, const std::vector<bool>& gone) {
    std::vector<RecordRow> kept;
    for (std::size_t i = 0; i < rows_.records.size(); ++i) {
      if (gone[i] || toc.records[i].type == RecordType::kDescription) continue;
      kept.push_back(std::move(rows_.records[i]));
    }
    rows_.records = std::move(kept);
    std::erase_if(rows_.references,
                  [&](const ReferenceEntry& row) { return gone[toc.index_of(*toc.find(row.from_record))]; });
  }

  [[nodiscard]] GenerationEntry old_generation() const {
    GenerationEntry entry = {};
    entry.number = header_.generation;
    // The copy at the beginning of the generation: the position of the other one follows from committed_end.
    const std::size_t first = header_.toc_offset[0] + header_.toc_size == header_.committed_end ? 1 : 0;
    entry.toc_offset = header_.toc_offset[first];
    entry.toc_size = header_.toc_size;
    entry.toc_head_size = header_.toc_head_size;
    entry.committed_end = header_.committed_end;
    entry.toc_hash = header_.toc_hash.bytes;
    if (header_.signature) entry.toc_sha256 = header_.signature->toc_sha256;
    return entry;
  }

  // Marks segments of the file that nothing uses as DEAD. `added`: the number of new ones, which rows use as well.
  void bury_unused(std::size_t added) {
    std::vector<bool> used(rows_.segments.size() + added);
    for (const RecordRow& record : rows_.records) {
      for (const SliceEntry& slice : record.slices) used[slice.segment] = true;
    }
    for (std::size_t i = 0; i < rows_.segments.size(); ++i) {
      if (!used[i] || !holds_payload(rows_.segments[i])) continue;
      for (const std::uint32_t leaves : {rows_.segments[i].leaves_segment, rows_.segments[i].digest.leaves_segment}) {
        if (leaves != kNoSegment) used[leaves] = true;
      }
    }
    for (std::size_t i = 0; i < rows_.segments.size(); ++i) {
      SegmentRow& segment = rows_.segments[i];
      if (used[i] || segment.kind == static_cast<std::uint16_t>(SegmentKind::kDead)) continue;
      segment = dead_segment(segment.offset, segment.size, segment.generation, segment.alignment_log2);
    }
  }

  // Adds the old table and the skipped tail as DEAD segments, in file order; `moved_` maps old segments to new indexes.
  void place_dead(std::uint64_t first_byte) {
    const unsigned unit_log2 = header_.form().unit_log2;
    std::vector<SegmentEntry> dead;
    for (const std::uint64_t offset : header_.toc_offset) {
      dead.push_back(dead_segment(offset, header_.toc_size, header_.generation, unit_log2));
    }
    const std::uint64_t tail = *checked_align_up(header_.committed_end, unit_log2);
    if (header_.tail_bytes != 0 && tail < first_byte) {
      dead.push_back(dead_segment(tail, first_byte - tail, rows_.generation, unit_log2));
    }
    std::vector<std::pair<SegmentRow, std::size_t>> all;  // with the old index
    for (std::size_t i = 0; i < rows_.segments.size(); ++i) all.emplace_back(rows_.segments[i], i);
    for (const SegmentEntry& segment : dead) all.emplace_back(segment, rows_.segments.size());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::uint64_t{a.first.offset} < std::uint64_t{b.first.offset};
    });
    moved_.resize(rows_.segments.size());
    rows_.segments.clear();
    for (const auto& [segment, old_index] : all) {
      if (old_index < moved_.size()) moved_[old_index] = static_cast<std::uint32_t>(rows_.segments.size());
      rows_.segments.push_back(segment);
    }
  }

  void renumber(std::size_t before) {
    const auto moved = [&](std::uint32_t index) {
      return index < moved_.size() ? moved_[index] : static_cast<std::uint32_t>(index - moved_.size() + before);
    };
    for (SegmentRow& segment : rows_.segments) {
      for (le32* leaves : {&segment.leaves_segment, &segment.digest.leaves_segment}) {
        if (*leaves != kNoSegment) *leaves = moved(*leaves);
      }
    }
    for (RecordRow& record : rows_.records) {
      for (SliceEntry& slice : record.slices) slice.segment = moved(slice.segment);
    }
  }

  const Header& header_;
  const Plan& plan_;
  TocRows rows_;
  std::vector<std::uint32_t> moved_;
};

}  // namespace

TocRows rows_after_append(const Header& header, const Toc& toc, const Plan& plan, const std::vector<bool>& gone,
                          std::uint64_t first_byte, const PackOptions& options) {
  return Merger(header, toc, plan).run(toc, gone, first_byte, options);
}

}  // namespace fatctx::container
