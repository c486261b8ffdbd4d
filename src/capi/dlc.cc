// Multi-SoC DLC archives through C.
#include <algorithm>

#include "capi/objects.h"
#include "capi/report_json.h"
#include "fatctx/import_dlc.h"
#include "fatctx/stored_dlc.h"

namespace fatctx::capi {

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

int32_t fatctx_is_dlc(const char* path, uint32_t* found, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_TRY(not_null(found, "found"));
    FATCTX_ASSIGN(const bool is, fatctx::is_dlc(path));
    *found = flag(is);
    return fatctx::Done{};
  });
}

int32_t fatctx_dlc_json(const char* path, char* buffer, size_t capacity, size_t* size, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_ASSIGN(const fatctx::DlcInfo info, fatctx::list_dlc(path));
    return put_text(to_json(path, info), buffer, capacity, size);
  });
}

int32_t fatctx_container_dlc_json(fatctx_container container, const char* layout, char* buffer, size_t capacity,
                                  size_t* size, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_ASSIGN(const fatctx::DlcInfo info, fatctx::list_stored_dlc(object.container, text_in(layout)));
    return put_text(to_json(object.container.path(), info), buffer, capacity, size);
  });
}

int32_t fatctx_container_dlcs_json(fatctx_container container, char* buffer, size_t capacity, size_t* size,
                                   fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) -> fatctx::Status {
    FATCTX_ASSIGN(const std::vector<fatctx::StoredDlc> stored, fatctx::stored_dlcs(object.container));
    return put_text(stored_dlcs_json(object.container.path(), stored), buffer, capacity, size);
  });
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

int32_t fatctx_dlc_thin(const char* path, const fatctx_dlc_choice* choice, const char* out, uint32_t overwrite,
                        fatctx_thin_dlc* report, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_TRY(check_report(report));
    FATCTX_ASSIGN(const fatctx::DlcChoice chosen, choice_in(choice));
    FATCTX_ASSIGN(const fatctx::ThinDlc thin, out == nullptr
                                                  ? fatctx::thin_dlc(path, chosen)
                                                  : fatctx::extract_thin_dlc(path, chosen, out, overwrite != 0));
    return tell(thin, report);
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

int32_t fatctx_container_thin_dlc(fatctx_container container, const char* layout, const fatctx_dlc_choice* choice,
                                  const char* out, uint32_t overwrite, fatctx_thin_dlc* report, fatctx_error* error) {
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
