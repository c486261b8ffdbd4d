// Containers and their records through C.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "capi/callers_memory.h"
#include "capi/objects.h"

namespace fatctx::capi {
namespace {

fatctx_record_info record_out(const RecordInfo& record) noexcept {
  const SelectionKey& key = record.key;
  fatctx_record_info out = {};
  out.id = record.id;
  out.type = static_cast<std::uint32_t>(record.type);
  out.supported = flag(record.supported);
  out.ignorable = flag(record.ignorable);
  out.must_map = flag(record.must_map);
  out.slice_count = record.slice_count;
  out.weight_count = static_cast<std::uint32_t>(record.weights.size());
  out.weights = record.weights.data();
  out.name = text_out(record.name);
  out.size_bytes = record.size_bytes;
  out.stored_bytes = record.stored_bytes;
  out.file_offset = record.file_offset;
  std::memcpy(out.hash, record.hash.bytes.data(), sizeof out.hash);
  out.group = text_out(key.group);
  out.unit = text_out(key.unit);
  out.backend = text_out(key.backend);
  out.part = text_out(key.part);
  out.arch = text_out(key.arch);
  out.features = text_out(key.features);
  out.variant = text_out(key.variant);
  out.qnn_soc = key.qnn_soc;
  out.vtcm_mb = key.vtcm_mb;
  out.generic = flag(key.generic);
  out.sdk = version_out(key.sdk);
  out.api = version_out(key.api);
  out.blob = version_out(key.blob);
  out.codec = static_cast<std::uint32_t>(record.codec);
  out.recipe = flag(record.recipe);
  return out;
}

fatctx_open_report report_out(const ContainerObject::Report& object) noexcept {
  const OpenReport& report = object.report;
  fatctx_open_report out = {};
  out.degraded_count = static_cast<std::uint32_t>(report.degraded.size());
  out.degraded = object.degraded.data();
  out.earlier = object.earlier.data();
  out.path = text_out(report.path);
  out.filesystem = text_out(report.filesystem);
  out.uuid = text_out(report.uuid);
  out.format_version = text_out(report.format_version);
  out.newer_features = text_out(report.newer_features);
  out.generation = report.generation;
  out.file_size = report.file_size;
  out.committed_end = report.committed_end;
  out.tail_bytes = report.tail_bytes;
  out.slot = static_cast<unsigned char>(report.slot);
  out.sealed = flag(report.sealed);
  out.signed_file = flag(report.signed_file);
  out.remote_filesystem = flag(report.remote_filesystem);
  out.already_live = flag(report.already_live);
  out.verify = static_cast<std::uint32_t>(report.verify);
  out.mapped = flag(report.mapped);
  out.copy_reason = text_out(report.copy_reason);
  out.copied_records = report.copied_records;
  out.copied_records_reason = text_out(report.copied_records_reason);
  out.key_id = text_out(report.key_id);
  out.signature_verified = flag(report.signature_verified);
  out.newest_generation = report.newest_generation;
  out.dead_bytes = report.dead_bytes;
  out.earlier_generations = static_cast<std::uint32_t>(report.earlier_generations.size());
  std::memcpy(out.toc_hash, report.toc_hash.bytes.data(), sizeof out.toc_hash);
  return out;
}

}  // namespace

ContainerObject::ContainerObject(fatctx::Container opened) : container(std::move(opened)) {}

ContainerObject::Report::Report(OpenReport made) : report(std::move(made)) {
  for (const std::string& copy : report.degraded) degraded.push_back(text_out(copy));
  for (const GenerationInfo& generation : report.earlier_generations) {
    earlier.push_back({generation.number, generation.committed_end});
  }
}

Result<const ContainerObject::Report*> ContainerObject::report() const {
  const std::lock_guard lock(mutex_);
  if (!report_) {
    FATCTX_ASSIGN(OpenReport made, container.report());
    report_ = std::make_unique<const Report>(std::move(made));
  }
  return report_.get();
}

}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_container_open(const char* path, const fatctx_open_options* options, fatctx_container* container,
                              fatctx_error* error) {
  return make_handle(container, "container", error, [&]() -> fatctx::Result<fatctx::Container> {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_ASSIGN(const fatctx::OpenOptions open, open_options_in(options));
    return fatctx::Container::open(path, open);
  });
}

int32_t fatctx_container_open_descriptor(int descriptor, uint64_t offset, uint64_t size,
                                         const fatctx_open_options* options, fatctx_container* container,
                                         fatctx_error* error) {
  return make_handle(container, "container", error, [&]() -> fatctx::Result<fatctx::Container> {
    FATCTX_ASSIGN(const fatctx::OpenOptions open, open_options_in(options));
    return fatctx::Container::open(fatctx::Source::of_descriptor(descriptor, {.offset = offset, .size = size}), open);
  });
}

int32_t fatctx_container_open_memory(const void* bytes, uint64_t size, const fatctx_open_options* options,
                                     fatctx_release release, void* user, fatctx_container* container,
                                     fatctx_error* error) {
  return make_handle_over_memory({bytes, size, release, user}, container, "container", error,
                                 [&](const fatctx::Source& source) -> fatctx::Result<fatctx::Container> {
                                   FATCTX_ASSIGN(const fatctx::OpenOptions open, open_options_in(options));
                                   return fatctx::Container::open(source, open);
                                 });
}

int32_t fatctx_container_reopen(fatctx_container container, fatctx_container* reopened, fatctx_error* error) {
  return make_handle(reopened, "reopened", error, [&]() -> fatctx::Result<fatctx::Container> {
    FATCTX_ASSIGN(const auto object, find(container));
    return object->container.reopen();
  });
}

int32_t fatctx_container_close(fatctx_container container, fatctx_error* error) {
  return close_handle(container, error);
}

int32_t fatctx_container_check(fatctx_container container, fatctx_error* error) {
  return with_object(container, error, [](const ContainerObject& object) { return object.container.check(); });
}

int32_t fatctx_container_report(fatctx_container container, fatctx_open_report* report, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_ASSIGN(const ContainerObject::Report* const made, object.report());
    return write_sized(report_out(*made), report, "report");
  });
}

int32_t fatctx_container_record_count(fatctx_container container, uint64_t* count, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(count, "count"));
    *count = object.container.record_count();
    return fatctx::Done{};
  });
}

int32_t fatctx_container_record_at(fatctx_container container, uint64_t index, fatctx_record_info* record,
                                   fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_ASSIGN(const auto records, object.container.records());
    FATCTX_ASSIGN(const fatctx::RecordInfo* const found, item_at(records, index, "record"));
    return write_sized(record_out(*found), record, "record");
  });
}

int32_t fatctx_container_record(fatctx_container container, uint32_t record_id, fatctx_record_info* record,
                                fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_ASSIGN(const fatctx::RecordInfo found, object.container.record(record_id));
    return write_sized(record_out(found), record, "record");
  });
}

int32_t fatctx_container_find(fatctx_container container, const char* name, fatctx_record_info* record,
                              fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(name, "name"));
    FATCTX_ASSIGN(const fatctx::RecordInfo found, object.container.find(name));
    return write_sized(record_out(found), record, "record");
  });
}

int32_t fatctx_container_record_target(fatctx_container container, uint32_t record_id, char* buffer, size_t capacity,
                                       size_t* size, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_ASSIGN(const fatctx::RecordInfo found, object.container.record(record_id));
    return put_text(fatctx::target_text(found.key), buffer, capacity, size);
  });
}

int32_t fatctx_container_tensor(fatctx_container container, uint32_t weights_id, const char* name, fatctx_view* view,
                                fatctx_error* error) {
  return make_handle(view, "view", error, [&]() -> fatctx::Result<fatctx::WeightView> {
    FATCTX_ASSIGN(const auto object, find(container));
    FATCTX_TRY(not_null(name, "name"));
    return object->container.tensor(weights_id, name);
  });
}

int32_t fatctx_container_acquire(fatctx_container container, uint32_t record_id, fatctx_view* view,
                                 fatctx_error* error) {
  return make_handle(view, "view", error, [&]() -> fatctx::Result<fatctx::RecordView> {
    FATCTX_ASSIGN(const auto object, find(container));
    return object->container.acquire(record_id);
  });
}

int32_t fatctx_container_acquire_name(fatctx_container container, const char* name, fatctx_view* view,
                                      fatctx_error* error) {
  return make_handle(view, "view", error, [&]() -> fatctx::Result<fatctx::RecordView> {
    FATCTX_ASSIGN(const auto object, find(container));
    FATCTX_TRY(not_null(name, "name"));
    return object->container.acquire(std::string_view(name));
  });
}

int32_t fatctx_container_access_path(fatctx_container container, uint32_t record_id, uint32_t* access_path,
                                     fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(access_path, "access_path"));
    FATCTX_ASSIGN(const fatctx::AccessPath path, object.container.access_path_of(record_id));
    *access_path = static_cast<std::uint32_t>(path);
    return fatctx::Done{};
  });
}

int32_t fatctx_container_tensors(fatctx_container container, uint32_t weights_id, fatctx_tensor_table* table,
                                 fatctx_error* error) {
  return make_handle(table, "table", error, [&]() -> fatctx::Result<fatctx::TensorTable> {
    FATCTX_ASSIGN(const auto object, find(container));
    return object->container.tensors(weights_id);
  });
}

int32_t fatctx_container_await_checks(fatctx_container container, const uint32_t* record_ids, uint64_t count,
                                      fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    if (record_ids == nullptr) return object.container.await_checks();
    if (count == 0) return fatctx::Done{};
    return object.container.await_checks({record_ids, static_cast<std::size_t>(count)});
  });
}

}  // extern "C"
