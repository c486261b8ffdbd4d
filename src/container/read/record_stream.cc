#include "container/read/record_stream.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/read/checked_bytes.h"
#include "container/read/leaves.h"
#include "container/read/open.h"
#include "container/read/pieces.h"
#include "container/read/recipe_record.h"
#include "container/read/record_hasher.h"

namespace fatctx::container {

Status check_readable(const RecordInfo& record, const RecordForm& form) {
  if (record.supported) return Done{};
  const std::string_view why = form.codec != kCodecNone && form.codec != kCodecLz4Frame
                                   ? "it is stored compressed in an unknown way"
                                   : "its type is unknown";
  return in_record(Error{ErrorCode::kUnsupported, fmt::format("{}, which this version lists but cannot hand out", why)},
                   record);
}

Status stream_logical(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record, const WorkBudget& budget,
                      const StreamSink& sink) {
  return stream_logical(file, toc, record, leaf_hash_of(toc), budget, sink);
}

Status stream_logical(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record, LeafHash record_hash,
                      const WorkBudget& budget, const StreamSink& sink) {
  const RecordForm& form = toc.forms[toc.index_of(record)];
  FATCTX_TRY(check_readable(record, form));
  RecordHasher hasher(toc, record_hash);
  const auto hashed = [&](ByteView bytes) -> Status {
    hasher.update(bytes);
    return sink(bytes);
  };
  const auto finish = [&]() -> Status { return hasher.matches(record) ? Status(Done{}) : not_its_hash(record); };
  if (form.recipe) {
    FATCTX_TRY(stream_recipe(file, toc, record, budget, hashed));
    return finish();
  }
  FATCTX_TRY(budget.make(record.size_bytes));
  std::optional<FrameReader> frame;
  if (record.codec != Codec::kNone) frame.emplace(record.size_bytes);
  // A frame counts its own bytes; the message must have an offset in the file.
  const auto in_file = [&](Status status) -> Status {
    if (status.ok() || status.error().code != ErrorCode::kCodec) return status;
    Error error = std::move(status).error();
    error.where.file_offset = place_in_file(toc, record, error.where.file_offset.value_or(0));
    error.message = record.slice_count == 1
                        ? fmt::format("the lz4 frame at bytes {:#x} to {:#x} of the file: {}", record.file_offset,
                                      record.file_offset + record.stored_bytes, error.message)
                        : fmt::format("the lz4 frame of {} slices from byte {:#x} of the file on: {}",
                                      record.slice_count, record.file_offset, error.message);
    return error;
  };
  const auto take = [&](ByteView own) -> Status { return frame ? in_file(frame->feed(own, hashed)) : hashed(own); };
  const std::uint32_t last = form.first_slice + record.slice_count;
  if (record.slice_count == 1) {
    const Slice& slice = toc.slices[form.first_slice];
    const Segment& segment = toc.segments[slice.segment];
    const LeafRange touched = leaves_touched(slice.range);
    FATCTX_TRY(budget.make((touched.end - touched.first) * sizeof(DiskHash)));
    FATCTX_ASSIGN(const Leaves leaves, read_leaves(file, toc, segment, leaf_hash_of(toc), touched));
    const auto visit = [&](std::uint64_t leaf, ByteView bytes, bool good) -> Status {
      const std::uint64_t start = leaf << kLeafLog2;  // in the segment
      if (!good) return leaf_error({segment.offset + start, bytes.size()}, all_zero(bytes));
      // The first and the last leaf may hold bytes of other records too.
      const std::uint64_t from = std::max(start, slice.range.offset);
      const std::uint64_t to = std::min(start + bytes.size(), slice.range.offset + slice.range.size);
      FATCTX_TRY(budget.make(bytes.size() - static_cast<std::size_t>(to - from)));
      return take(bytes.subspan(static_cast<std::size_t>(from - start), static_cast<std::size_t>(to - from)));
    };
    FATCTX_TRY(walk_leaves(file, segment, leaves, touched, visit));
  } else {
    // Slices may be much smaller than their leaves, and share them.
    CheckedBytes checked(file, toc, record, budget);
    for (std::uint32_t i = form.first_slice; i != last; ++i) {
      const Slice& slice = toc.slices[i];
      FATCTX_TRY(checked.read({toc.segments[slice.segment].offset + slice.range.offset, slice.range.size}, take));
    }
  }
  if (frame) FATCTX_TRY(in_file(frame->finish()));
  return finish();
}

Status check_logical(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record, LeafHash record_hash,
                     const WorkBudget& budget, const mapping::AfterPiece& after) {
  const RecordForm& form = toc.forms[toc.index_of(record)];
  if (form.recipe || record.codec != Codec::kNone || !record.supported) {
    return stream_logical(file, toc, record, record_hash, budget, [&](ByteView bytes) { return after(bytes.size()); });
  }
  FATCTX_TRY(budget.make(record.size_bytes));
  RecordHasher hasher(toc, record_hash);
  if (record.slice_count != 1) {
    // Slices may be much smaller than their leaves, and share them.
    CheckedBytes checked(file, toc, record, budget);
    for (std::uint32_t i = 0; i != record.slice_count; ++i) {
      const Slice& slice = toc.slices[form.first_slice + i];
      FATCTX_TRY(checked.see(
          slice.segment, slice.range, [&](ByteView bytes) { hasher.update(bytes); }, after));
    }
    return hasher.matches(record) ? Status(Done{}) : not_its_hash(record);
  }
  const Slice& slice = toc.slices[form.first_slice];
  const Segment& segment = toc.segments[slice.segment];
  const LeafRange touched = leaves_touched(slice.range);
  FATCTX_TRY(budget.make((touched.end - touched.first) * sizeof(DiskHash)));
  const std::uint64_t compared = std::min(touched.end << kLeafLog2, segment.size) - (touched.first << kLeafLog2);
  FATCTX_TRY(budget.make(compared - slice.range.size));
  FATCTX_ASSIGN(const Leaves leaves, read_leaves(file, toc, segment, leaf_hash_of(toc), touched));
  const auto look = [&](std::uint64_t leaf, ByteView bytes) {
    const std::uint64_t start = leaf << kLeafLog2;  // in the segment
    // The first and the last leaf may hold bytes of other records too.
    const ByteRange own = overlap({start, bytes.size()}, slice.range);
    hasher.update(bytes.subspan(static_cast<std::size_t>(own.offset - start), static_cast<std::size_t>(own.size)));
  };
  FATCTX_TRY(compare_leaves(file, segment, leaves, touched, look, after));
  return hasher.matches(record) ? Status(Done{}) : not_its_hash(record);
}

}  // namespace fatctx::container
