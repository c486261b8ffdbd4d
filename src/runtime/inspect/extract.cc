#include "fatctx/extract.h"

#include "container/read/open.h"
#include "container/read/record_stream.h"
#include "mapping/publish.h"
#include "runtime/observe/observe.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"

namespace fatctx {

namespace {

Status stream(const MappedContainer& mapped, const RecordInfo& record, std::uint64_t max_made_bytes,
              const ByteSink& sink, const Progress& progress) {
  FATCTX_TRY(mapped.recheck());
  std::uint64_t done = 0;
  const auto counted = [&](ByteView bytes) -> Status {
    FATCTX_TRY(sink(bytes));
    done += bytes.size();
    if (progress) progress(done, record.size_bytes);
    return Done{};
  };
  const container::WorkBudget budget(mapped.toc(), max_made_bytes);
  return container::stream_logical(mapped.file(), mapped.toc(), record, budget, counted);
}

}  // namespace

Status stream_record(const Container& container, std::uint32_t record_id, const ByteSink& sink,
                     const Progress& progress) {
  FATCTX_ASSIGN(const RecordInfo record, container.record(record_id));
  const MappedContainer& mapped = *mapped_of(container);
  observe::Span span(ProfileEventKind::kVerify, container.path());
  span.about(record);
  const std::uint64_t max_made_bytes = options_of(container).max_made_bytes;
  auto status = stream(mapped, mapped.known(record.id), max_made_bytes, sink, progress);
  if (status.ok()) span.succeeded(record.size_bytes);
  if (status.ok()) return status;
  Error error = std::move(status).error();
  // Errors of the sink (for example a full disk) are about another file and keep their own message.
  return error.code == ErrorCode::kChecksumMismatch || error.code == ErrorCode::kNotPresent ||
                 error.code == ErrorCode::kCodec || error.code == ErrorCode::kLimitExceeded
             ? in_context(container::in_record(std::move(error), record), mapped.name())
             : std::move(error);
}

Status extract_record(const Container& container, std::uint32_t record_id, const std::string& path, bool overwrite,
                      const Progress& progress) {
  FATCTX_ASSIGN(const std::unique_ptr<mapping::PendingFile> pending, mapping::PendingFile::create(path, overwrite));
  std::uint64_t at = 0;
  const auto found = container.record(record_id);
  const ByteSink write = [&](ByteView bytes) -> Status {
    // Allocates only when the first byte arrives: before that, the record may turn out to exceed the limit of one call.
    if (at == 0) FATCTX_TRY(pending->file().allocate(found.value().size_bytes));
    FATCTX_TRY(pending->file().write_at(at, bytes));
    at += bytes.size();
    return Done{};
  };
  FATCTX_TRY(stream_record(container, record_id, write, progress));
  return pending->publish(false);
}

Status publish_bytes(ByteView bytes, const std::string& path, bool overwrite) {
  FATCTX_ASSIGN(const std::unique_ptr<mapping::PendingFile> pending, mapping::PendingFile::create(path, overwrite));
  FATCTX_TRY(pending->file().write_at(0, bytes));
  return pending->publish(false);
}

}  // namespace fatctx
