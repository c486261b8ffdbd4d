// The table of SoCs through C.
#include <fmt/format.h>

#include "capi/objects.h"

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_soc_table_read(const char* path, fatctx_soc_table* table, fatctx_error* error) {
  return make_handle(table, "table", error, [&]() -> fatctx::Result<fatctx::SocTable> {
    if (path == nullptr) return fatctx::SocTable::built_in();
    return fatctx::SocTable::read(path);
  });
}

int32_t fatctx_soc_table_find(fatctx_soc_table table, const char* name, fatctx_soc* soc, fatctx_error* error) {
  return with_object(table, error, [&](const fatctx::SocTable& rows) -> fatctx::Status {
    FATCTX_TRY(not_null(name, "name"));
    FATCTX_TRY(not_null(soc, "soc"));
    const fatctx::NamedPart named = rows.name_part(name);
    if (named.soc == nullptr) {
      return fatctx::Error{fatctx::ErrorCode::kNotFound,
                           fmt::format("table {} has no SoC called \"{}\"", rows.version(), name)};
    }
    fatctx_soc filled = {};
    filled.rule = static_cast<std::uint32_t>(named.rule);
    filled.part = text_out(named.soc->part);
    filled.vendor = text_out(named.soc->vendor);
    filled.name = text_out(named.soc->name);
    filled.arch = text_out(named.soc->arch);
    filled.runtime = text_out(named.soc->runtime);
    filled.qnn_soc = named.soc->qnn_soc.value_or(0);
    filled.vtcm_mb = named.soc->vtcm_mb.value_or(0);
    return write_sized(filled, soc, "soc");
  });
}

int32_t fatctx_soc_table_json(fatctx_soc_table table, const char* search, char* buffer, size_t capacity, size_t* size,
                              fatctx_error* error) {
  return with_object(table, error, [&](const fatctx::SocTable& rows) {
    return put_text(fatctx::to_json(rows, text_in(search)), buffer, capacity, size);
  });
}

int32_t fatctx_soc_table_close(fatctx_soc_table table, fatctx_error* error) { return close_handle(table, error); }

}  // extern "C"
