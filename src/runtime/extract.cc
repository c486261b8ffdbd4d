#include "fatctx/extract.h"

#include <algorithm>

#include <fmt/format.h>

#include "container/hash.h"
#include "container/leaves.h"
#include "container/open.h"
#include "mapping/publish.h"
#include "runtime/mapped_container.h"

namespace fatctx {

// What streaming needs and the public Container does not show.
class RecordReader {
 public:
  static const MappedContainer& of(const Container& container) noexcept { return *container.mapped_; }
};

namespace {

Status stream(const MappedContainer& mapped, const RecordInfo& record, const ByteSink& sink, const Progress& progress) {
  const container::Toc& toc = mapped.toc();
  const container::RecordForm& form = toc.forms[toc.index_of(record)];
  FATCTX_TRY(container::check_supported(record, form));
  FATCTX_TRY(mapped.recheck());
  if (record.slice_count == 0) return Done{};
  const container::Slice& slice = toc.slices[form.first_slice];
  const container::Segment& segment = toc.segments[slice.segment];
  FATCTX_ASSIGN(const std::vector<Hash128> leaves, container::read_leaves(mapped.file(), toc, segment));
  container::Hasher hasher;
  std::uint64_t done = 0;
  const auto visit = [&](std::uint64_t leaf, ByteView bytes, bool good) -> Status {
    const std::uint64_t start = leaf << container::kLeafLog2;  // in the segment
    if (!good) {
      const std::uint64_t at = segment.offset + start;
      return Error{ErrorCode::kChecksumMismatch,
                   fmt::format("bytes {:#x} to {:#x} of the file are damaged", at, at + bytes.size()),
                   {.file_offset = at}};
    }
    // The first and last leaf may hold other records' bytes too.
    const std::uint64_t from = std::max(start, slice.range.offset);
    const std::uint64_t to = std::min(start + bytes.size(), slice.range.offset + slice.range.size);
    const ByteView own = bytes.subspan(static_cast<std::size_t>(from - start), static_cast<std::size_t>(to - from));
    hasher.update(own);
    FATCTX_TRY(sink(own));
    done += own.size();
    if (progress) progress(done, record.size_bytes);
    return Done{};
  };
  FATCTX_TRY(container::walk_leaves(mapped.file(), segment, leaves, container::leaves_touched(slice.range), visit));
  if (hasher.digest() != record.hash) {
    return Error{ErrorCode::kChecksumMismatch, "its bytes do not match its hash, although every leaf does"};
  }
  return Done{};
}

}  // namespace

Status stream_record(const Container& container, std::uint32_t record_id, const ByteSink& sink,
                     const Progress& progress) {
  FATCTX_ASSIGN(const RecordInfo record, container.record(record_id));
  const MappedContainer& mapped = RecordReader::of(container);
  auto status = stream(mapped, *mapped.toc().find(record.id), sink, progress);
  if (status.ok()) return status;
  Error error = std::move(status).error();
  // Errors of the sink (a full disk, say) speak of another file and keep their own words.
  return error.code == ErrorCode::kChecksumMismatch
             ? in_context(container::in_record(std::move(error), record), mapped.name())
             : std::move(error);
}

Status extract_record(const Container& container, std::uint32_t record_id, const std::string& path, bool overwrite,
                      const Progress& progress) {
  FATCTX_ASSIGN(const std::unique_ptr<mapping::PendingFile> pending, mapping::PendingFile::create(path, overwrite));
  std::uint64_t at = 0;
  const ByteSink write = [&](ByteView bytes) -> Status {
    FATCTX_TRY(pending->file().write_at(at, bytes));
    at += bytes.size();
    return Done{};
  };
  FATCTX_TRY(stream_record(container, record_id, write, progress));
  return pending->publish(false);
}

}  // namespace fatctx
