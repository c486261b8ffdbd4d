// Multi-SoC DLC archives through C.
#include <algorithm>

#include "capi/objects.h"
#include "fatctx/import_dlc.h"
#include "fatctx/stored_dlc.h"

namespace fatctx::capi {

DlcObject::DlcObject(DlcInfo listed) : info(std::move(listed)) {
  for (const DlcSoc& soc : info.socs) shared.emplace_back(soc.shared.begin(), soc.shared.end());
}

namespace {

Result<DlcImport> import_in(const fatctx_dlc_import* options) {
  fatctx_dlc_import given = {};
  if (options != nullptr) FATCTX_TRY(read_sized(options, given));
  DlcImport result;
  result.group = text_in(given.group);
  result.unit = text_in(given.unit);
  result.prefix = text_in(given.prefix);
  result.keep_layout = given.without_layout == 0;
  return result;
}

Result<DlcChoice> choice_in(const fatctx_dlc_choice* choice) {
  FATCTX_TRY(not_null(choice, "choice"));
  fatctx_dlc_choice given = {};
  FATCTX_TRY(read_sized(choice, given));
  FATCTX_ASSIGN(const auto socs, array_in(given.qnn_socs, given.soc_count, "qnn_socs"));
  FATCTX_ASSIGN(const auto entries, array_in(given.entries, given.entry_count, "entries"));
  DlcChoice result;
  result.qnn_socs.assign(socs.begin(), socs.end());
  for (const char* name : entries) {
    FATCTX_TRY(not_null(name, "the name of an entry"));
    result.entries.emplace_back(name);
  }
  return result;
}

fatctx_thin_dlc thin_out(const ThinDlc& thin) noexcept {
  fatctx_thin_dlc out = {};
  out.entry_count = static_cast<std::uint32_t>(thin.entries.size());
  out.size_bytes = thin.size_bytes;
  out.new_bytes = thin.new_bytes;
  out.mapped_pieces = static_cast<std::uint32_t>(
      std::count_if(thin.pieces.begin(), thin.pieces.end(), [](const DlcPiece& piece) { return piece.bytes.empty(); }));
  out.built_pieces = static_cast<std::uint32_t>(thin.pieces.size()) - out.mapped_pieces;
  return out;
}

fatctx_thin_dlc thin_out(const ThinDlcView& thin) noexcept {
  fatctx_thin_dlc out = {};
  out.entry_count = static_cast<std::uint32_t>(thin.entries().size());
  out.size_bytes = thin.size_bytes();
  out.new_bytes = thin.new_bytes();
  out.copied_bytes = thin.copied_bytes();
  out.mapped_pieces = thin.mapped_pieces();
  out.built_pieces = thin.built_pieces();
  return out;
}

// The report is optional; a struct that cannot take it is refused before anything is done.
Status check_report(const fatctx_thin_dlc* report) {
  if (report == nullptr) return Done{};
  return check_struct_size(report->struct_size);
}

template <typename Thin>
Status tell(const Thin& thin, fatctx_thin_dlc* report) {
  if (report == nullptr) return Done{};
  return write_sized(thin_out(thin), report, "report");
}

// `writer`: a packer or an appender.
template <typename Writer>
Status add_dlc(const char* path, const fatctx_dlc_import* options, Writer& writer) {
  FATCTX_TRY(not_null(path, "path"));
  FATCTX_ASSIGN(const DlcImport import, import_in(options));
  FATCTX_ASSIGN(std::vector<PackRecord> records, records_from_dlc(path, import));
  for (PackRecord& record : records) FATCTX_TRY(writer.add(std::move(record)));
  return Done{};
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

const char* fatctx_dlc_entry_kind_name(uint32_t kind) {
  return fatctx::dlc_entry_kind_name(static_cast<fatctx::DlcEntryKind>(std::min<uint32_t>(kind, FATCTX_DLC_OTHER)))
      .data();
}

int32_t fatctx_is_dlc(const char* path, uint32_t* found, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_TRY(not_null(found, "found"));
    FATCTX_ASSIGN(const bool is, fatctx::is_dlc(path));
    *found = flag(is);
    return fatctx::Done{};
  });
}

int32_t fatctx_dlc_open(const char* path, fatctx_dlc* dlc, fatctx_error* error) {
  return make_handle(dlc, "dlc", error, [&]() -> fatctx::Result<DlcObject> {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_ASSIGN(fatctx::DlcInfo info, fatctx::list_dlc(path));
    return DlcObject(std::move(info));
  });
}

int32_t fatctx_container_dlc(fatctx_container container, const char* layout, fatctx_dlc* dlc, fatctx_error* error) {
  return make_handle(dlc, "dlc", error, [&]() -> fatctx::Result<DlcObject> {
    FATCTX_ASSIGN(const auto object, find(container));
    FATCTX_ASSIGN(fatctx::DlcInfo info, fatctx::list_stored_dlc(object->container, text_in(layout)));
    return DlcObject(std::move(info));
  });
}

int32_t fatctx_dlc_close(fatctx_dlc dlc, fatctx_error* error) { return close_handle(dlc, error); }

int32_t fatctx_dlc_describe(fatctx_dlc dlc, fatctx_dlc_info* info, fatctx_error* error) {
  return with_object(dlc, error, [&](const DlcObject& object) -> fatctx::Status {
    fatctx_dlc_info filled = {};
    filled.size_bytes = object.info.file_size;
    filled.entry_count = object.info.entries.size();
    filled.soc_count = object.info.socs.size();
    filled.finding_count = object.info.findings.size();
    return write_sized(filled, info, "info");
  });
}

int32_t fatctx_dlc_entry_at(fatctx_dlc dlc, uint64_t index, fatctx_dlc_entry* entry, fatctx_error* error) {
  return with_object(dlc, error, [&](const DlcObject& object) -> fatctx::Status {
    FATCTX_ASSIGN(const fatctx::DlcEntry* const found, item_at(object.info.entries, index, "entry"));
    fatctx_dlc_entry filled = {};
    filled.kind = static_cast<uint32_t>(found->kind);
    filled.name = text_out(found->name);
    filled.offset = found->data.offset;
    filled.size_bytes = found->data.size;
    return write_sized(filled, entry, "entry");
  });
}

int32_t fatctx_dlc_soc_at(fatctx_dlc dlc, uint64_t index, fatctx_dlc_soc* soc, fatctx_error* error) {
  return with_object(dlc, error, [&](const DlcObject& object) -> fatctx::Status {
    FATCTX_ASSIGN(const fatctx::DlcSoc* const found, item_at(object.info.socs, index, "context binary"));
    const std::vector<std::uint64_t>& shared = object.shared[static_cast<std::size_t>(index)];
    fatctx_dlc_soc filled = {};
    filled.qnn_soc = found->qnn_soc;
    filled.entry = found->entry;
    filled.arch = text_out(found->arch);
    filled.build_id = text_out(found->build_id);
    filled.sdk = version_out(found->sdk);
    filled.api = version_out(found->api);
    filled.blob = version_out(found->blob);
    filled.vtcm_mb = found->vtcm_mb;
    filled.shared = shared.data();
    filled.shared_count = shared.size();
    filled.graph_count = found->graphs.size();
    return write_sized(filled, soc, "soc");
  });
}

int32_t fatctx_dlc_graph(fatctx_dlc dlc, uint64_t soc_index, uint64_t index, fatctx_text* text, fatctx_error* error) {
  return with_object(dlc, error, [&](const DlcObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(text, "text"));
    FATCTX_ASSIGN(const fatctx::DlcSoc* const soc, item_at(object.info.socs, soc_index, "context binary"));
    FATCTX_ASSIGN(const std::string* const found, item_at(soc->graphs, index, "graph"));
    *text = text_out(*found);
    return fatctx::Done{};
  });
}

int32_t fatctx_dlc_finding(fatctx_dlc dlc, uint64_t index, fatctx_text* text, fatctx_error* error) {
  return with_object(dlc, error, [&](const DlcObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(text, "text"));
    FATCTX_ASSIGN(const std::string* const found, item_at(object.info.findings, index, "finding"));
    *text = text_out(*found);
    return fatctx::Done{};
  });
}

void fatctx_dlc_import_init(fatctx_dlc_import* options, size_t struct_size) {
  init_sized(fatctx_dlc_import{}, options, struct_size);
}

int32_t fatctx_packer_add_dlc(fatctx_packer packer, const char* path, const fatctx_dlc_import* options,
                              fatctx_error* error) {
  return with_packer(packer, error, [&](PackerObject& object) { return add_dlc(path, options, object.packer); });
}

int32_t fatctx_appender_add_dlc(fatctx_appender appender, const char* path, const fatctx_dlc_import* options,
                                fatctx_error* error) {
  return with_appender(appender, error,
                       [&](AppenderObject& object) { return add_dlc(path, options, object.appender); });
}

void fatctx_dlc_choice_init(fatctx_dlc_choice* choice, size_t struct_size) {
  init_sized(fatctx_dlc_choice{}, choice, struct_size);
}

int32_t fatctx_dlc_thin(const char* path, const fatctx_dlc_choice* choice, fatctx_thin_dlc* report,
                        fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_TRY(not_null(report, "report"));
    FATCTX_TRY(check_report(report));
    FATCTX_ASSIGN(const fatctx::DlcChoice chosen, choice_in(choice));
    FATCTX_ASSIGN(const fatctx::ThinDlc thin, fatctx::thin_dlc(path, chosen));
    return tell(thin, report);
  });
}

int32_t fatctx_dlc_extract_thin(const char* path, const fatctx_dlc_choice* choice, const char* out, uint32_t overwrite,
                                fatctx_thin_dlc* report, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_TRY(not_null(out, "out"));
    FATCTX_TRY(check_report(report));
    FATCTX_ASSIGN(const fatctx::DlcChoice chosen, choice_in(choice));
    FATCTX_ASSIGN(const fatctx::ThinDlc thin, fatctx::extract_thin_dlc(path, chosen, out, overwrite != 0));
    return tell(thin, report);
  });
}

int32_t fatctx_container_dlc_count(fatctx_container container, uint64_t* count, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(count, "count"));
    FATCTX_ASSIGN(const std::vector<fatctx::StoredDlc> stored, fatctx::stored_dlcs(object.container));
    *count = stored.size();
    return fatctx::Done{};
  });
}

int32_t fatctx_container_dlc_at(fatctx_container container, uint64_t index, fatctx_stored_dlc* dlc,
                                fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(dlc, "dlc"));
    FATCTX_ASSIGN(const std::vector<fatctx::StoredDlc> stored, fatctx::stored_dlcs(object.container));
    FATCTX_ASSIGN(const fatctx::StoredDlc* const found, item_at(stored, index, "DLC"));
    FATCTX_ASSIGN(const fatctx::RecordInfo record, object.container.record(found->layout_id));
    fatctx_stored_dlc filled = {};
    filled.layout_id = found->layout_id;
    filled.layout = text_out(record.name);
    filled.size_bytes = found->size_bytes;
    filled.record_count = found->records.size();
    return write_sized(filled, dlc, "dlc");
  });
}

int32_t fatctx_container_export_dlc(fatctx_container container, const char* layout, const char* out, uint32_t overwrite,
                                    fatctx_progress progress, void* user, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(out, "out"));
    const auto done =
        fatctx::export_dlc(object.container, text_in(layout), out, overwrite != 0, progress_in(progress, user));
    if (!done.ok()) return done.error();
    return fatctx::Done{};
  });
}

int32_t fatctx_container_extract_thin_dlc(fatctx_container container, const char* layout,
                                          const fatctx_dlc_choice* choice, const char* out, uint32_t overwrite,
                                          fatctx_thin_dlc* report, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(out, "out"));
    FATCTX_TRY(check_report(report));
    FATCTX_ASSIGN(const fatctx::DlcChoice chosen, choice_in(choice));
    FATCTX_ASSIGN(const fatctx::ThinDlc thin,
                  fatctx::extract_stored_thin_dlc(object.container, text_in(layout), chosen, out, overwrite != 0));
    return tell(thin, report);
  });
}

int32_t fatctx_container_thin_dlc_view(fatctx_container container, const char* layout, const fatctx_dlc_choice* choice,
                                       fatctx_view* view, fatctx_thin_dlc* report, fatctx_error* error) {
  return make_handle(view, "view", error, [&]() -> fatctx::Result<fatctx::ThinDlcView> {
    FATCTX_ASSIGN(const auto object, find(container));
    FATCTX_TRY(check_report(report));
    FATCTX_ASSIGN(const fatctx::DlcChoice chosen, choice_in(choice));
    FATCTX_ASSIGN(fatctx::ThinDlcView made, fatctx::thin_dlc_view(object->container, chosen, text_in(layout)));
    FATCTX_TRY(tell(made, report));
    return made;
  });
}

}  // extern "C"
