// The bytes of records through C, beyond views: streams, files, copies, and absent ranges.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "capi/objects.h"
#include "fatctx/extract.h"
#include "fatctx/info.h"
#include "fatctx/presence.h"

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_container_same_bytes(fatctx_container container, uint32_t record_id, uint32_t* ids, uint64_t capacity,
                                    uint64_t* count, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(count, "count"));
    if (capacity != 0) FATCTX_TRY(not_null(ids, "ids"));
    FATCTX_ASSIGN(const fatctx::RecordInfo record, object.container.record(record_id));
    FATCTX_ASSIGN(const auto records, object.container.records());
    const std::vector<std::uint32_t> same = fatctx::same_bytes_as(record, records);
    std::copy_n(same.begin(), std::min<std::uint64_t>(capacity, same.size()), ids);
    *count = same.size();
    return fatctx::Done{};
  });
}

int32_t fatctx_container_info_json(fatctx_container container, const fatctx_info_parts* parts, char* buffer,
                                   size_t capacity, size_t* size, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    fatctx_info_parts given = {};
    if (parts != nullptr) FATCTX_TRY(read_sized(parts, given));
    fatctx::InfoParts wanted{.graphs = given.graphs != 0,
                             .options = given.options != 0,
                             .sharing = given.sharing != 0,
                             .extents = given.extents != 0,
                             .present = given.present != 0};
    if (given.tensors_of != 0) wanted.tensors_of = given.tensors_of;
    FATCTX_ASSIGN(const fatctx::ContainerDescription description, object.container.describe());
    FATCTX_ASSIGN(const std::string json, fatctx::info_json(object.container, description, wanted));
    return put_text(json, buffer, capacity, size);
  });
}

int32_t fatctx_container_absent(fatctx_container container, uint32_t record_id, uint32_t read_payload,
                                fatctx_file_range* ranges, uint64_t capacity, uint64_t* count, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(count, "count"));
    if (capacity != 0) FATCTX_TRY(not_null(ranges, "ranges"));
    const fatctx::PresenceOptions options{.read_payload = read_payload != 0};
    std::vector<fatctx::ByteRange> absent;
    if (record_id == 0) {
      FATCTX_ASSIGN(fatctx::PresenceReport report, fatctx::find_absent(object.container, options));
      absent = std::move(report.absent);
    } else {
      FATCTX_ASSIGN(absent, fatctx::find_absent(object.container, record_id, options));
    }
    for (std::size_t i = 0; i < std::min<std::uint64_t>(capacity, absent.size()); ++i) {
      ranges[i] = {absent[i].offset, absent[i].size};
    }
    *count = absent.size();
    return fatctx::Done{};
  });
}

int32_t fatctx_container_stream(fatctx_container container, uint32_t record_id, fatctx_sink sink, void* user,
                                fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(sink, "sink"));
    const fatctx::ByteSink pass_on = [&](fatctx::ByteView bytes) -> fatctx::Status {
      if (sink(user, bytes.data(), bytes.size()) != 0) throw Cancelled{};
      return fatctx::Done{};
    };
    return fatctx::stream_record(object.container, record_id, pass_on);
  });
}

int32_t fatctx_container_extract(fatctx_container container, uint32_t record_id, const char* path, uint32_t overwrite,
                                 fatctx_progress progress, void* user, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    return fatctx::extract_record(object.container, record_id, path, overwrite != 0, progress_in(progress, user));
  });
}

int32_t fatctx_container_read(fatctx_container container, uint32_t record_id, void* memory, uint64_t size,
                              const fatctx_read_options* options, fatctx_read_report* report, fatctx_progress progress,
                              void* user, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    if (size != 0) FATCTX_TRY(not_null(memory, "memory"));
    fatctx_read_options given = {};
    if (options != nullptr) FATCTX_TRY(read_sized(options, given));
    if (given.method > FATCTX_READ_CACHED) {
      return fatctx::Error{
          fatctx::ErrorCode::kInvalidArgument,
          fmt::format("method is {}; allowed are FATCTX_READ_AUTO (0), _DIRECT (1) and _CACHED (2)", given.method)};
    }
    const std::span<std::byte> out(static_cast<std::byte*>(memory), static_cast<std::size_t>(size));
    auto read = fatctx::read_record(object.container, record_id, out,
                                    {.method = static_cast<fatctx::ReadMethod>(given.method),
                                     .keep_cached = given.keep_cached != 0,
                                     .threads = given.threads,
                                     .progress = progress_in(progress, user)});
    if (!read.ok()) return std::move(read).error();
    if (report == nullptr) return fatctx::Done{};
    fatctx_read_report filled = {};
    filled.method = static_cast<std::uint32_t>(read.value().method);
    filled.size_bytes = read.value().size_bytes;
    filled.direct_bytes = read.value().direct_bytes;
    filled.cached_bytes = read.value().cached_bytes;
    filled.threads = read.value().threads;
    read.value().reason.copy(filled.reason, sizeof(filled.reason) - 1);
    return write_sized(filled, report, "report");
  });
}

}  // extern "C"
