#include "container/record_stream.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "container/leaves.h"
#include "container/open.h"
#include "container/pieces.h"
#include "container/recipe_record.h"
#include "container/record_hasher.h"

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
  const RecordForm& form = toc.forms[toc.index_of(record)];
  FATCTX_TRY(check_readable(record, form));
  RecordHasher hasher(toc);
  const auto hashed = [&](ByteView bytes) -> Status {
    hasher.update(bytes);
    return sink(bytes);
  };
  const auto finish = [&]() -> Status {
    if (hasher.matches(record)) return Done{};
    return Error{ErrorCode::kChecksumMismatch,
                 "its bytes do not match its hash, although every leaf does",
                 {.file_offset = record.file_offset, .rule = "F37"}};
  };
  if (form.recipe) {
    FATCTX_TRY(stream_recipe(file, toc, record, budget, hashed));
    return finish();
  }
  FATCTX_TRY(budget.make(record.size_bytes));
  std::optional<FrameReader> frame;
  if (record.codec != Codec::kNone) frame.emplace(record.size_bytes);
  // The frame counts its own bytes; people look for them in the file.
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
  const auto visit = [&](const Segment& segment, const Slice& slice, std::uint64_t leaf, ByteView bytes,
                         bool good) -> Status {
    const std::uint64_t start = leaf << kLeafLog2;  // in the segment
    if (!good) return damaged_bytes(segment.offset + start, bytes.size());
    // The first and last leaf may hold other records' bytes too.
    const std::uint64_t from = std::max(start, slice.range.offset);
    const std::uint64_t to = std::min(start + bytes.size(), slice.range.offset + slice.range.size);
    const ByteView own = bytes.subspan(static_cast<std::size_t>(from - start), static_cast<std::size_t>(to - from));
    FATCTX_TRY(budget.make(bytes.size() - own.size()));
    return frame ? in_file(frame->feed(own, hashed)) : hashed(own);
  };
  LeafHashes hashes(file, toc, budget);
  for (std::uint32_t i = 0; i < record.slice_count; ++i) {
    const Slice& slice = toc.slices[form.first_slice + i];
    const Segment& segment = toc.segments[slice.segment];
    FATCTX_ASSIGN(const Leaves* leaves, hashes.of(slice.segment));
    FATCTX_TRY(walk_leaves(
        file, segment, *leaves, leaves_touched(slice.range),
        [&](std::uint64_t leaf, ByteView bytes, bool good) { return visit(segment, slice, leaf, bytes, good); }));
  }
  if (frame) FATCTX_TRY(in_file(frame->finish()));
  return finish();
}

}  // namespace fatctx::container
